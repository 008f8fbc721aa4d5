// Package daemon starts servers for tests: as somebody without privileges, in a
// folder of their own, and such that they end with the test even if that is
// killed.
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

// unprivileged is the user that servers run as when the test runs as root: most
// refuse to be root.
const unprivileged = 65534

// startTime is how long a server may take until it answers. Alone it takes a
// second; a machine that builds at the same time is far slower.
const startTime = 2 * time.Minute

// stopTime is how long a server may take to end.
const stopTime = 10 * time.Second

// Folder is where a server keeps its files.
type Folder struct{ Path string }

// NewFolder makes an empty folder that the server may write.
func NewFolder(name string) (Folder, error) {
	path, err := os.MkdirTemp("", name)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{path}
	return f, f.own(path)
}

// Write writes a file that nobody but the server may read.
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

// Run runs a command to its end.
func (f Folder) Run(name string, args ...string) error {
	if output, err := f.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, output)
	}
	return nil
}

// Process is a running server.
type Process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	output bytes.Buffer  // what it says; complete when ended is closed
}

// Start starts a server and waits until it answers: until ready returns nil.
func (f Folder) Start(ready func() error, name string, args ...string) (*Process, error) {
	p := &Process{cmd: f.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.start(); err != nil {
		return nil, err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(startTime)
	for {
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s ended at once: %s", filepath.Base(name), p.output.Bytes())
		case <-late:
			p.Stop()
			return nil, fmt.Errorf("%s did not answer within %v: %s", filepath.Base(name), startTime, p.output.Bytes())
		case <-look.C:
		}
		if ready() == nil {
			return p, nil
		}
	}
}

// start starts the process on a thread that lives as long as the process: for
// Linux its parent is that thread, not our process.
func (p *Process) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // it never ends well: it is killed
			close(p.ended)
		}
	}()
	return <-started
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the server to end at once, with all its processes, and waits until
// it has. One that doesn't listen is killed.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // has ended already, or ends now
	select {
	case <-p.ended:
		return
	case <-time.After(stopTime):
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// FreePort returns a port of this machine that nobody uses right now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
