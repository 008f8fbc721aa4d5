package dynamolocal

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the process end when the one of the test dies.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
