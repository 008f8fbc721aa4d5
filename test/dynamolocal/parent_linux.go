package dynamolocal

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the process end when its parent dies.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
