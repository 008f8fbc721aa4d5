// Package dynamolocal starts DynamoDB Local, the vendor's emulator, for tests
// and benchmarks.
//
// Its licence allows to run it for tests, but not to pass it on. So it is not
// part of this repository: the first test that needs it gets it with npm, as a
// part of the package amplify-dynamodb-simulator, and keeps it in the user's
// cache. A test without it fails, and says what to install.
package dynamolocal

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// startTime is how long the emulator may take until it answers. Alone it takes
// a second or two; a machine that builds at the same time is far slower.
const startTime = 2 * time.Minute

// starts is how often to start it: another process may take the port that was
// free a moment ago.
const starts = 3

// Start starts an emulator that keeps all tables in its memory, and returns its
// endpoint. Credentials may be any letters and digits, and the region any. It
// ends with the test.
func Start(tb testing.TB) (endpoint string) {
	tb.Helper()
	endpoint, end, err := Run()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	return endpoint
}

// Run is [Start] for a program that is no test: the emulator ends when end is
// called.
func Run() (endpoint string, end func(), err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", nil, fmt.Errorf("%w: DynamoDB Local needs Java 11 or later (Debian: apt-get install default-jre-headless)", err)
	}
	home, err := emulator()
	if err != nil {
		return "", nil, err
	}
	for n := 1; ; n++ {
		p, endpoint, err := launch(java, home)
		if err != nil {
			return "", nil, err
		}
		if err = p.answers(endpoint); err == nil {
			return endpoint, p.end, nil
		}
		p.end()
		if n == starts {
			return "", nil, err
		}
	}
}

// process is a running emulator.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	output bytes.Buffer  // what it says; complete when ended is closed
}

func launch(java, home string) (p *process, endpoint string, err error) {
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	p = &process{ended: make(chan struct{})}
	// The Java options shorten the start: what runs for seconds only needs
	// neither the second compiler nor collectors with threads of their own.
	p.cmd = exec.Command(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
		"-inMemory", "-sharedDb", "-port", strconv.Itoa(port), "-disableTelemetry")
	p.cmd.Dir = home
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	endWithParent(p.cmd)
	if err := p.start(); err != nil {
		return nil, "", fmt.Errorf("start DynamoDB Local: %w", err)
	}
	return p, "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// start starts the process on a thread that lives as long as the process: for
// Linux its parent is that thread, not our process.
func (p *process) start() error {
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

func (p *process) end() {
	_ = p.cmd.Process.Kill() // has ended already, or ends now
	<-p.ended
}

// answers waits until the emulator answers requests.
func (p *process) answers(endpoint string) error {
	client := &http.Client{Timeout: 5 * time.Second}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(startTime)
	for {
		select {
		case <-p.ended:
			return fmt.Errorf("DynamoDB Local ended at once: %s", p.output.Bytes())
		case <-late:
			return fmt.Errorf("DynamoDB Local did not answer within %v", startTime)
		case <-look.C:
		}
		if answer, err := client.Get(endpoint); err == nil {
			return answer.Body.Close()
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
