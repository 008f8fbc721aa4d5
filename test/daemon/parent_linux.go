package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent makes a process get SIGQUIT when the test dies, and run without
// privileges. It is not SIGKILL, because a server of several processes ends them
// all only if it can handle the signal.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
}
