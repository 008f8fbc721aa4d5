//go:build !linux

package dynamolocal

import "os/exec"

// endWithParent does nothing: there is no such request outside Linux. A test
// that ends in order still ends its emulator.
func endWithParent(*exec.Cmd) {}
