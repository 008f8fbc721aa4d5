//go:build !linux

package main

import (
	"io"
	"os"
	"syscall"
)

// childAttributes give a child a process group of its own, in the foreground
// of the terminal if there is one. Nothing kills it when this process is
// killed.
func childAttributes(stdin io.Reader) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if in, ok := stdin.(*os.File); ok && isTerminal(in) {
		a.Foreground, a.Ctty = true, int(in.Fd())
	}
	return a
}

// descendants are processes that have left the command's group. This system has
// no way to find them.
type descendants struct{}

func becomeSubreaper() descendants { return descendants{} }

func (descendants) kill() {}

func (descendants) reap(int) {}
