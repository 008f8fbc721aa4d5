package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing/fstest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tidelock-lua/tidelock/native/clock"
	engines "github.com/tidelock-lua/tidelock/runtime"
	hosts "github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
)

const (
	taskClients = 64
	taskRounds  = 30
	taskTurn    = 200 * time.Millisecond // of one contender
)

// hostScripts are the scripts that the hosts run.
var hostScripts = engines.Directory{"bench": {ID: "bench", Scripts: []fs.FS{fstest.MapFS{
	"echo.lua": {Data: []byte(`return function(e) return e end`)},
	"lock.lua": {Data: []byte(`return function(e)
		return native.lock.with(e.lock, {scope = "local"}, function() return 1 end)
	end`)},
}}}}

// target is an HTTP server to measure.
type target struct {
	name, goal, url string

	rates []float64       // requests per second, of each turn
	took  []time.Duration // of each request
	cpu   cpuUsage        // of all of them, clients included
}

// taskHost compares invocations over HTTP with a Go server that echoes the body.
// Clients and servers share this process and its processors.
func taskHost(b *bench) error {
	ours, end, err := startHost(b)
	if err != nil {
		return err
	}
	defer end()
	echo, endEcho, err := startEcho()
	if err != nil {
		return err
	}
	defer endEcho()
	const goal = "at least 0.4x"
	all := []*target{
		{name: "net/http, the body back", url: echo},
		{name: "the event back", goal: goal, url: ours + "echo/invocations"},
		{name: "a local lock of its own", goal: goal, url: ours + "lock/invocations"},
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: taskClients}}
	defer client.CloseIdleConnections()
	for range taskRounds {
		for _, s := range all {
			if err := s.load(b, client); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	var rows [][]string
	for _, s := range all {
		slices.Sort(s.rates)
		slices.Sort(s.took)
		most, median := s.rates[len(s.rates)-1], s.rates[len(s.rates)/2]
		rows = append(rows, []string{s.name, strconv.Itoa(int(most)), strconv.Itoa(int(median)),
			fmt.Sprintf("%.2fx", most/all[0].rates[taskRounds-1]), formatDuration(s.cpu.perOperation()), ratio(all[0].cpu.perOperation(), s.cpu.perOperation()), s.goal,
			formatDuration(percentile(s.took, 50)), formatDuration(percentile(s.took, 99))})
	}
	b.table([]string{fmt.Sprintf("%d clients", taskClients), "most per second", "median", "ratio", "CPU of each", "ratio", "goal",
		"p50", "p99"}, rows)
	return nil
}

// startHost serves a host as `tidelock task serve` does: with a token and with a
// log record for each run. path is the URL of its scripts.
func startHost(ctx context.Context) (path string, end func(), err error) {
	clk := clock.NewDual(clock.System())
	sum := sha256.Sum256([]byte(secret))
	host, err := hosts.New(hosts.Config{
		Engine: newEngine(clk, nil, nil), Clock: clk, Tenants: hostScripts, Log: jsonLog(io.Discard),
		Tokens: []api.Token{{SHA256: hex.EncodeToString(sum[:]), Tenant: "bench"}},
	})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() { _ = host.Serve(ctx, l, nil) }) // clients see the failure
	return "http://" + l.Addr().String() + "/v1/tenants/bench/scripts/", func() {
		stop()
		served.Wait()
	}, nil
}

func startEcho() (url string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body) // clients see the failure
	})}
	go server.Serve(l)
	return "http://" + l.Addr().String() + "/", func() { server.Close() }, nil
}

// load lets all clients send requests for one turn.
func (s *target) load(ctx context.Context, client *http.Client) error {
	took, failed := make([][]time.Duration, taskClients), make([]error, taskClients)
	var all sync.WaitGroup
	before := cpuTime()
	began := time.Now()
	for i := range taskClients {
		body := fmt.Appendf(nil, `{"lock":"lock %d"}`, i)
		all.Go(func() {
			for time.Since(began) < taskTurn && failed[i] == nil {
				from := time.Now()
				failed[i] = post(ctx, client, s.url, body)
				took[i] = append(took[i], time.Since(from))
			}
		})
	}
	all.Wait()
	each := slices.Concat(took...)
	s.rates = append(s.rates, float64(len(each))/time.Since(began).Seconds())
	s.took = append(s.took, each...)
	s.cpu.time += cpuTime() - before
	s.cpu.ops += len(each)
	return errors.Join(failed...)
}

// post sends one request. Any status but 200 is an error.
func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// jsonLog returns a JSON logger as hosts use it.
func jsonLog(w io.Writer) *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(w)), zap.InfoLevel))
}
