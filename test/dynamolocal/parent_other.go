//go:build !linux

package dynamolocal

import "os/exec"

// endWithParent does nothing, because only Linux can do it. A test that ends
// normally still ends its emulator.
func endWithParent(*exec.Cmd) {}
