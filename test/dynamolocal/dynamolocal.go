// Package dynamolocal starts DynamoDB Local, the vendor's emulator, for tests
// and benchmarks.
//
// Its license allows running it for tests, but not redistributing it. So it is
// not part of this repository. The first test that needs it downloads it with
// npm, as a part of the package amplify-dynamodb-simulator, and keeps it in the
// user's cache. Where that is impossible, the test fails and names what to
// install.
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

// startTimeout is how long the emulator may take until it answers. On an idle
// machine it takes a second or two, on a busy one far longer.
const startTimeout = 2 * time.Minute

// startAttempts is how often to start the emulator: another process may take the
// port that was free a moment ago.
const startAttempts = 3

// Start starts an emulator that keeps all tables in memory, and returns its
// endpoint. It accepts any region, and any letters and digits as credentials. It
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

// Run is [Start] for programs that are not tests. The emulator ends when end is
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
		p, endpoint, err := startProcess(java, home)
		if err != nil {
			return "", nil, err
		}
		if err = p.waitUntilReady(endpoint); err == nil {
			return endpoint, p.kill, nil
		}
		p.kill()
		if n == startAttempts {
			return "", nil, err
		}
	}
}

// process is a running emulator.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	output bytes.Buffer  // complete when ended is closed
}

func startProcess(java, home string) (p *process, endpoint string, err error) {
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	p = &process{ended: make(chan struct{})}
	// The Java options shorten the start: a process that runs for seconds needs
	// neither the second compiler nor a concurrent collector.
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

// start starts the process on a thread that lives as long as the process: on
// Linux the parent, with which it ends, is that thread.
func (p *process) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // always fails, because the process is killed
			close(p.ended)
		}
	}()
	return <-started
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if the process has ended already
	<-p.ended
}

// waitUntilReady waits until the emulator answers requests.
func (p *process) waitUntilReady(endpoint string) error {
	client := &http.Client{Timeout: 5 * time.Second}
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	timeout := time.After(startTimeout)
	for {
		select {
		case <-p.ended:
			return fmt.Errorf("DynamoDB Local ended at once: %s", p.output.Bytes())
		case <-timeout:
			return fmt.Errorf("DynamoDB Local did not answer within %v", startTimeout)
		case <-retry.C:
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
