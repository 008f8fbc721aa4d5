package main

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"
)

// childAttributes give a child a process group of its own, in the foreground
// of the terminal if there is one, and kill it when this process dies.
func childAttributes(stdin io.Reader) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if in, ok := stdin.(*os.File); ok && isTerminal(in) {
		a.Foreground, a.Ctty = true, int(in.Fd())
	}
	return a
}

// descendants are all processes that this one has started, and those have.
type descendants struct{}

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2): a process whose
// parent has gone becomes a child of this one, and not of init.
const prSetChildSubreaper = 36

// becomeSubreaper makes this process the parent of descendants whose own
// parents exit before them.
func becomeSubreaper() descendants {
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0) // where it is refused, the group is what is left
	return descendants{}
}

// killRounds bounds how often what is found is killed: what forks meanwhile is
// found in the next round.
const killRounds = 100

// kill kills all descendants.
func (d descendants) kill() {
	for range killRounds {
		alive := false
		for _, p := range d.list() {
			if !p.exited {
				alive = true
				_ = syscall.Kill(p.id, syscall.SIGKILL) // it may have ended since
			}
		}
		if !alive {
			return
		}
	}
}

// reap collects the exit status of adopted descendants, so that they don't stay
// as zombies. command is left to the caller, which waits for it itself.
func (d descendants) reap(command int) {
	self := os.Getpid()
	for _, p := range d.list() {
		if p.exited && p.parent == self && p.id != command {
			_, _ = syscall.Wait4(p.id, nil, syscall.WNOHANG, nil)
		}
	}
}

// process is an entry of the system's table.
type process struct {
	id, parent int
	exited     bool // and nobody has taken note
}

// list finds the descendants in /proc.
func (descendants) list() (found []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read is what there is
	below := map[int][]process{}
	for _, name := range names {
		if p, ok := readProcess(name); ok {
			below[p.parent] = append(below[p.parent], p)
		}
	}
	todo := []int{os.Getpid()}
	for len(todo) > 0 {
		children := below[todo[0]]
		delete(below, todo[0])
		todo = todo[1:]
		found = append(found, children...)
		for _, p := range children {
			todo = append(todo, p.id)
		}
	}
	return found
}

// readProcess reads "id (name) state parent ..."; the name may hold anything.
func readProcess(name string) (p process, ok bool) {
	id, err := strconv.Atoi(name)
	if err != nil {
		return p, false
	}
	text, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return p, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return process{id: id, parent: parent, exited: fields[0][0] == 'Z' || fields[0][0] == 'X'}, err == nil
}
