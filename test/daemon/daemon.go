// Package daemon starts servers for tests: as a user without privileges, in a
// folder of their own, and so that they end with the test even if it is killed.
package daemon

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// unprivileged is the user and group of servers when the test runs as root: most
// servers refuse to run as root.
const unprivileged = 65534

// startTime bounds the start of a server. It takes a second on an idle machine,
// and far more on one that builds at the same time.
const startTime = 2 * time.Minute

// stopTime bounds how long a server may take to stop.
const stopTime = 10 * time.Second

// Folder is the folder of a server's files.
type Folder struct{ Path string }

// NewFolder makes an empty folder that the server may write to.
func NewFolder(name string) (Folder, error) {
	path, err := os.MkdirTemp("", name)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{path}
	return f, f.own(path)
}

// Write writes a file that only the server may read.
func (f Folder) Write(name string, text []byte) (path string, err error) {
	path = filepath.Join(f.Path, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", err
	}
	return path, f.own(path)
}

func (f Folder) own(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, unprivileged, unprivileged)
}

// Remove removes the folder.
func (f Folder) Remove() { _ = os.RemoveAll(f.Path) } // what stays is in the system's folder for such things

// Command is a command that runs as the server does.
func (f Folder) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = f.Path
	cmd.Env = append(os.Environ(), "HOME="+f.Path, "LC_ALL=C")
	dieWithParent(cmd)
	return cmd
}

// Run runs a command and waits until it has exited.
func (f Folder) Run(name string, args ...string) error {
	if output, err := f.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, output)
	}
	return nil
}

// Process is a running server.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has exited
	output bytes.Buffer  // of the process; complete when exited is closed
}

// Start starts a server and waits until it is ready: until ready returns nil.
func (f Folder) Start(ready func() error, name string, args ...string) (*Process, error) {
	p := &Process{cmd: f.Command(name, args...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.start(); err != nil {
		return nil, err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	late := time.After(startTime)
	for {
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended at once: %s", filepath.Base(name), p.output.Bytes())
		case <-late:
			p.Stop()
			return nil, fmt.Errorf("%s did not answer within %v: %s", filepath.Base(name), startTime, p.output.Bytes())
		case <-poll.C:
		}
		if ready() == nil {
			return p, nil
		}
	}
}

// start starts the process from a thread that lives as long as the process: on
// Linux the thread counts as its parent, not this process.
func (p *Process) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // it never ends well: it is killed
			close(p.exited)
		}
	}()
	return <-started
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop sends SIGQUIT, which ends a server with all its processes, and waits until
// it has exited. A server that doesn't is killed.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // has ended already, or ends now
	select {
	case <-p.exited:
		return
	case <-time.After(stopTime):
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// FreePort returns a port of 127.0.0.1 that is not in use.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
