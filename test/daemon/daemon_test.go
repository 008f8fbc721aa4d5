package daemon_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/tidelock-lua/tidelock/test/daemon"
)

// envServe is set where this program stands for a test that has a server.
const envServe = "DAEMON_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(envServe) == "" {
		os.Exit(m.Run())
	}
	folder, err := daemon.NewFolder("tidelock-daemon")
	if err != nil {
		panic(err)
	}
	p, err := folder.Start(func() error { return nil }, "sleep", "600")
	if err != nil {
		panic(err)
	}
	folder.Remove() // the process will be killed
	fmt.Println(p.PID())
	select {}
}

func TestServerEndsWithAKilledTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("elsewhere a killed test leaves its server behind")
		return
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the server doesn't run: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for range 1000 {
		if state(pid) == "" || state(pid) == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
	t.Errorf("the server is still there: %s", state(pid))
}

// state returns a process's state in one letter, "" if there is no such process.
func state(pid int) string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return ""
	}
	s, err := p.Stat()
	if err != nil {
		return "" // it has gone since
	}
	return s.State
}
