package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent makes the process end when the one of the test dies, and run
// without privileges. It is asked, not killed: a server of several processes
// ends them all only if it is asked.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
}
