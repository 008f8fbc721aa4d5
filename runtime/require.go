package runtime

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/spelling"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/compile"
)

// requireState holds what a run has required so far.
type requireState struct {
	roots   []fs.FS
	modules map[string]lua.LValue // what each returned; nil while it loads
}

// requireStateKey is the key of a run's requireState.
type requireStateKey struct{}

// moduleBytesMax is the longest name of a module in bytes. Longer ones aren't
// found.
const moduleBytesMax = 255

// moduleName matches names such as lib.x, for lib/x.lua. None leads out of a root.
var moduleName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// newRequire makes the global function require. require("lib.x") runs
// lib/x.lua from the first root that has it, once in a run, and returns what
// that returned, or true if it returned nothing.
func newRequire(compiler *compile.Compiler) *lua.LFunction {
	return vm.NewFunction(func(L *lua.LState) int {
		run := vm.Of(L)
		run.CheckInterrupt()
		name := L.CheckString(1)
		state := run.Value(requireStateKey{}).(*requireState)
		if module, ok := state.modules[name]; ok {
			if module == nil {
				vm.Raise(L, "loop while loading module '%s'", name)
			}
			L.Push(module)
			return 1
		}
		if library := libraryOf(run, name); library != nil && !state.has(name) {
			L.Push(library)
			return 1
		}
		source := state.read(L, name)
		ctx := run.Context()
		defer ctx.Stop()
		proto, err := compiler.Compile(ctx, strings.ReplaceAll(name, ".", "/")+".lua", source)
		if err != nil {
			vm.Raise(L, "error loading module '%s': %s", name, err.Error())
		}
		L.Push(state.load(L, name, proto))
		return 1
	})
}

// libraries are the modules of Lua's own that may be required.
var libraries = []string{"_G", "coroutine", "debug", "math", "os", "string", "table"}

// libraryOf returns one of Lua's own modules, or nil.
func libraryOf(run *vm.Run, name string) *lua.LTable {
	if !slices.Contains(libraries, name) {
		return nil
	}
	globals := run.Globals()
	vm.Materialize(globals)
	library, _ := globals.RawGetString(name).(*lua.LTable)
	return library
}

// has reports whether a root has a module of this name, one without dots.
func (s *requireState) has(name string) bool {
	return slices.ContainsFunc(s.roots, func(root fs.FS) bool {
		_, err := fs.Stat(root, name+".lua")
		return err == nil
	})
}

// read returns the source of a module, or raises an error. One that is there and
// can't be read ends the run.
func (s *requireState) read(L *lua.LState, name string) string {
	if len(name) <= moduleBytesMax && moduleName.MatchString(name) {
		file := strings.ReplaceAll(name, ".", "/") + ".lua"
		for _, root := range s.roots {
			source, err := fs.ReadFile(root, file)
			switch {
			case err == nil:
				return string(source)
			case isMissing(err):
			case leadsOut(err):
				vm.Of(L).RecordIncident(err)
				vm.Raise(L, "module '%.100s' can't be read", name)
			default:
				// A script that went on without the module might do something else
				// than it would with it.
				vm.Of(L).RaiseCancelled(unreadable(fmt.Sprintf("module '%.100s'", name), err))
			}
		}
	}
	vm.Raise(L, "module '%.100s' not found: %s", name, s.notFound(name))
	return ""
}

// notFound returns the error of a missing module: where it was searched, and what
// was probably meant.
func (s *requireState) notFound(name string) string {
	if dotted := dottedName(name); dotted != name && moduleName.MatchString(dotted) {
		return fmt.Sprintf("names of modules have dots and no ending, write require(\"%.100s\")", dotted)
	}
	if len(name) > moduleBytesMax || !moduleName.MatchString(name) {
		return "a name is made of letters, digits, _ and -, with dots for folders"
	}
	file := strings.ReplaceAll(name, ".", "/") + ".lua"
	text := "the scripts' folder has no file " + file
	switch n := len(s.roots); {
	case n == 0:
		return "this run has no folder of scripts"
	case n > 1:
		text = fmt.Sprintf("none of the %d folders of scripts has a file %s", n, file)
	}
	if near := s.nearest(file); near != "" {
		text += fmt.Sprintf(", did you mean '%s'?", near)
	}
	return text
}

// dottedName returns the name of the module that a path leads to.
func dottedName(path string) string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), ".lua")
	return strings.NewReplacer("/", ".", "\\", ".").Replace(path)
}

// candidatesMax bounds the files among which a misspelt one is searched.
const candidatesMax = 1000

// nearest returns the name of a module in the same folder whose name is near to that
// of a file that isn't there.
func (s *requireState) nearest(file string) string {
	folder, base := path.Split(file)
	var names []string
	for _, root := range s.roots {
		entries, err := fs.ReadDir(root, path.Clean("./"+folder))
		if err != nil {
			continue
		}
		for _, e := range entries[:min(len(entries), candidatesMax)] {
			if name, ok := strings.CutSuffix(e.Name(), ".lua"); ok && moduleName.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	near := spelling.Nearest(strings.TrimSuffix(base, ".lua"), names)
	if near == "" {
		return ""
	}
	return strings.ReplaceAll(folder, "/", ".") + near
}

// load calls a module's chunk with its name and keeps what it returns.
func (s *requireState) load(L *lua.LState, name string, proto *lua.FunctionProto) lua.LValue {
	if s.modules == nil {
		s.modules = map[string]lua.LValue{}
	}
	s.modules[name] = nil
	defer func() {
		if s.modules[name] == nil {
			delete(s.modules, name) // it failed, and may be loaded again
		}
	}()
	L.Push(vm.Of(L).NewChunk(proto))
	L.Push(lua.LString(name))
	L.Call(1, 1)
	module := L.Get(-1)
	L.Pop(1)
	if module == lua.LNil {
		module = lua.LTrue
	}
	s.modules[name] = module
	L.G.Registry.RawSetString(name, module) // so that it counts as the run's memory
	return module
}
