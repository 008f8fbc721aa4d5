package vm

import (
	"reflect"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func TestMustBeginLikeRefusesAnotherLayout(t *testing.T) {
	for name, test := range map[string]struct {
		layout  reflect.Type
		refused bool
	}{
		"the same fields": {reflect.TypeFor[struct {
			IsG bool
			Env *lua.LTable
		}](), false},
		"a pointer to a layout": {reflect.TypeFor[struct {
			IsG bool
			Env *tableLayout
		}](), false},
		"another pointer": {reflect.TypeFor[struct {
			IsG bool
			Env *lua.LState
		}](), true},
		"no pointer": {reflect.TypeFor[struct {
			IsG bool
			Env uintptr
		}](), true},
		"another name":   {reflect.TypeFor[struct{ IsGo bool }](), true},
		"another size":   {reflect.TypeFor[struct{ IsG int32 }](), true},
		"another offset": {reflect.TypeFor[struct{ Env *lua.LTable }](), true},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if refused := recover() != nil; refused != test.refused {
					t.Errorf("refused: %v, want %v", refused, test.refused)
				}
			}()
			mustBeginLike(test.layout, reflect.TypeFor[lua.LFunction]())
		})
	}
}
