package main

import (
	"io"
	"os"
	"syscall"

	"github.com/prometheus/procfs"
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

// process is an entry of the system's process table.
type process struct {
	id, parent int
	exited     bool // a zombie: its parent hasn't collected its status
}

// list finds the descendants in /proc.
func (descendants) list() (found []process) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	below := map[int][]process{}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // it may have gone since
			below[s.PPID] = append(below[s.PPID], process{id: p.PID, parent: s.PPID, exited: s.State == "Z" || s.State == "X"})
		}
	}
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		children := below[queue[0]]
		delete(below, queue[0])
		queue = queue[1:]
		found = append(found, children...)
		for _, p := range children {
			queue = append(queue, p.id)
		}
	}
	return found
}
