package task

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Host answers HTTP and keeps schedules, for many tenants in one process.
type Host struct {
	config    Config
	keys      keyring
	queue     *queue
	intake    *intake
	schedules []*schedule
	hurry     chan struct{} // closed by Hurry
	hurryOnce sync.Once
	life      context.Context // ends when runs are cancelled because the host stops
	endLife   context.CancelFunc

	mu       sync.Mutex // guards what follows
	draining bool
	known    map[string]*invocation // accepted ones, by id
	replays  map[replayKey]*invocation
	results  results

	open  sync.WaitGroup // accepted invocations without a result; grows only while not draining
	clock sync.WaitGroup // schedules
}

// New makes a host. The error tells what is wrong with the configuration.
func New(c Config) (*Host, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	keys, err := newKeyring(c.Tokens)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, known := c.Tenants[key.caller.tenant]; !key.caller.operator && !known {
			return nil, fmt.Errorf("a token is for tenant %s, which there is none of", key.caller.tenant)
		}
	}
	h := &Host{
		config: c, keys: keys, queue: newQueue(c.Limits), intake: newIntake(c.Limits.QueueBytes), hurry: make(chan struct{}),
		known: map[string]*invocation{}, replays: map[replayKey]*invocation{},
		results: results{limits: c.Retention, tenants: map[tenant.ID]*kept{}},
	}
	h.life, h.endLife = context.WithCancel(context.Background())
	if h.schedules, err = newSchedules(h, c.Schedules); err != nil {
		return nil, err
	}
	return h, nil
}

// Times of the HTTP servers.
const (
	headerTime = 10 * time.Second // to send a request's header
	bodyTime   = time.Minute      // to send its body
	unreadTime = 5 * time.Second  // to send a body that nobody reads
	answerTime = time.Minute      // to take an answer
	idleTime   = 2 * time.Minute  // of a connection between two requests
	headerMax  = 16 << 10         // bytes of a request's header
	// deliverMin is the least time that late answers have to arrive, however
	// short the time to stop is.
	deliverMin = 100 * time.Millisecond
)

// Serve answers requests of tenants on api and those of the platform on
// internal until ctx ends, and then stops as the package comment says. It
// takes both listeners over. internal may be nil. An api that others than this
// machine can reach is refused if there are no tokens.
func (h *Host) Serve(ctx context.Context, api, internal net.Listener) error {
	servers, err := h.servers(api, internal)
	if err != nil {
		return errors.Join(err, api.Close(), closeListener(internal))
	}
	ended := make(chan error, len(servers))
	for _, s := range servers {
		go func() { ended <- s.serve() }()
	}
	schedules, stopSchedules := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSchedules()
	for _, s := range h.schedules {
		h.clock.Go(func() { s.keep(schedules) })
	}
	var broken error
	running := len(servers)
	select {
	case <-ctx.Done():
	case broken = <-ended:
		running--
	}
	h.refuse()
	stopSchedules()
	h.drain()
	var stopping sync.WaitGroup
	for _, s := range servers { // at the same time: it is the last fifth of the reserve
		stopping.Go(func() { s.stop(max(h.config.StopReserve/10, deliverMin)) })
	}
	stopping.Wait()
	for range running {
		<-ended
	}
	return broken
}

// ForceStop cancels what runs, as if the time to stop were over, once the context
// of Serve has ended.
func (h *Host) ForceStop() { h.hurryOnce.Do(func() { close(h.hurry) }) }

// Ready says whether the host takes invocations.
func (h *Host) Ready() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.draining
}

// RunningFor says whether some script has been running for d or longer.
func (h *Host) RunningFor(d time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, inv := range h.known {
		if inv.state == running && time.Since(inv.started) >= d {
			return true
		}
	}
	return false
}

// refuse ends the intake and answers what has waited.
func (h *Host) refuse() {
	h.mu.Lock()
	h.draining = true
	waited := map[*ticket]bool{}
	for _, t := range h.queue.close() {
		waited[t] = true
		if t.refused != nil {
			t.refused()
		}
	}
	var unrun []*invocation
	for _, inv := range h.known {
		if waited[inv.ticket] {
			unrun = append(unrun, inv)
		}
	}
	h.mu.Unlock()
	for _, inv := range unrun {
		inv.cancel(runtime.Shutdown{})
		h.settle(inv, failed(inv, shutdown()), false)
	}
}

// drain waits until nothing runs any more, and sees to it that this comes in
// time: runs are cancelled when only the reserve is left, and given up when
// four fifths of that are over.
func (h *Host) drain() {
	defer h.endLife()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		h.open.Wait()
		h.clock.Wait()
	}()
	reserve := h.config.StopReserve
	cancelAt := time.NewTimer(h.config.StopTimeout - reserve)
	defer cancelAt.Stop()
	select {
	case <-idle:
		return
	case <-cancelAt.C:
	case <-h.hurry:
	}
	h.endLife()
	for _, inv := range h.unfinished() {
		h.stop(inv, runtime.Shutdown{})
	}
	giveUpAt := time.NewTimer(reserve - reserve/5)
	defer giveUpAt.Stop()
	select {
	case <-idle:
		return
	case <-giveUpAt.C:
	}
	for _, inv := range h.unfinished() {
		h.abandon(inv, shutdown())
	}
}

// unfinished returns the invocations without a result.
func (h *Host) unfinished() (all []*invocation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, inv := range h.known {
		if inv.state != finished {
			all = append(all, inv)
		}
	}
	return all
}

// log is the host's log about an invocation.
func (h *Host) log(inv *invocation) *zap.Logger { return h.config.Log.With(about(inv)...) }

// about says in the log which invocation it is about.
func about(inv *invocation) []zap.Field {
	fields := make([]zap.Field, 0, 8) // room for those of a run that ends well
	fields = append(fields,
		zap.String("tenantId", string(inv.tenant)), zap.String("script", inv.script), zap.String("runId", inv.id))
	if inv.schedule != "" {
		fields = append(fields, zap.String("schedule", inv.schedule))
	}
	if inv.trace != "" {
		fields = append(fields, zap.String("traceId", inv.trace))
	}
	return fields
}

// messageMax is how much of an error's message is logged, in bytes.
const messageMax = 2000

// report tells log and metrics how an invocation ended: one record each.
func (h *Host) report(inv *invocation, r *runtime.Result) {
	for _, incident := range r.Incidents {
		h.log(inv).Error("a native call failed in a way that the script may not see", zap.Error(incident))
	}
	fields := append(about(inv),
		zap.Bool("ok", r.Error == nil), zap.Float64("durationMs", millis(r.Duration)),
		zap.Float64("waitedMs", millis(inv.waited())), zap.Int64("instructions", r.Counters.Instructions),
		zap.Int64("dataOps", r.Counters.DataOps))
	if e := r.Error; e != nil {
		message := strings.ToValidUTF8(e.Message[:min(len(e.Message), messageMax)], "")
		fields = append(fields, zap.String("errorType", string(e.Type)), zap.String("errorMessage", message))
		if e.Code != "" {
			fields = append(fields, zap.String("errorCode", e.Code))
		}
		if e.Line > 0 {
			fields = append(fields, zap.String("file", e.File), zap.Int("line", e.Line))
		}
		h.config.Log.Warn("run failed", fields...)
	} else {
		h.config.Log.Info("run ended", fields...)
	}
	if ended := h.config.Events.Ended; ended != nil {
		ended(inv.tenant, r)
	}
}

// waited is for how long an invocation has been in the queue.
func (inv *invocation) waited() time.Duration {
	if inv.started.IsZero() {
		return time.Since(inv.accepted)
	}
	return inv.started.Sub(inv.accepted)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// stackOf describes a panic for the log.
func stackOf(p any) []zap.Field {
	return []zap.Field{zap.Any("panic", p), zap.ByteString("stack", debug.Stack())}
}

// server is an HTTP server and what it listens on.
type server struct {
	*http.Server
	listener net.Listener
}

func (h *Host) servers(api, internal net.Listener) ([]server, error) {
	open := len(h.keys) == 0
	if open && !loopback(api.Addr()) {
		return nil, fmt.Errorf("%s can be reached by others than this machine, and there are no tokens: set tokens, or listen on 127.0.0.1", api.Addr())
	}
	servers := []server{h.server(api, h.Handler())}
	if internal != nil {
		servers = append(servers, h.server(internal, h.InternalHandler()))
	}
	return servers, nil
}

func (h *Host) server(l net.Listener, handler http.Handler) server {
	return server{listener: l, Server: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerMax,
		ErrorLog: zap.NewStdLog(h.config.Log),
	}}
}

func (s server) serve() error {
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", s.listener.Addr(), err)
	}
	return nil
}

// stop lets answers that are on their way arrive, for d at most.
func (s server) stop(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close() // what is left is cut off
	}
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// loopback says whether only this machine can reach an address.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
