package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Service keeps rows in memory and dates its answers, as the service behind a
// real table does. Processes reach it by a [Table] of their own.
type Service struct {
	// Latency is how long a request takes, half of it each way.
	Latency time.Duration

	mu   sync.Mutex // guards what follows
	now  func() time.Time
	rows map[lock.Key]lock.Row
	sent []Request
}

// NewService returns an empty service whose clock is now (nil: [time.Now]).
func NewService(now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{now: now, rows: make(map[lock.Key]lock.Row)}
}

// Request is one request as a process sent it.
type Request struct {
	Op    string // "put" or "delete"
	Key   lock.Key
	Owner string
	Row   lock.Row       // of a put
	Now   lock.UnixMilli // :now of a put
	At    time.Time      // when it was sent, on the service's clock
}

// Requests returns what was sent so far, oldest first: all, or those of one
// op.
func (s *Service) Requests(op ...string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.sent {
		if len(op) == 0 || slices.Contains(op, r.Op) {
			found = append(found, r)
		}
	}
	return found
}

// Rows returns the rows that are stored, in order of their names.
func (s *Service) Rows() []lock.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []lock.Row
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b lock.Row) int { return strings.Compare(a.Key.Name, b.Key.Name) })
	return rows
}

// Store stores a row unconditionally, as an operator or another program would.
func (s *Service) Store(row lock.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[row.Key] = row
}

// Remove removes the row of key, as an operator or the table's expiry does.
func (s *Service) Remove(key lock.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, key)
}

// SetClock replaces the service's clock.
func (s *Service) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// apply acts on one request, as one atomic step.
func (s *Service) apply(r Request) (outcome.Outcome, *lock.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, there := s.rows[r.Key]
	free := !there || old.Until <= r.Now
	if r.Op == "delete" {
		free = there && old.Owner == r.Owner
	}
	switch {
	case !free && there:
		return outcome.Refused, &old
	case !free:
		return outcome.Refused, nil
	case r.Op == "put":
		s.rows[r.Key] = r.Row
	default:
		delete(s.rows, r.Key)
	}
	return outcome.Applied, nil
}

func (s *Service) record(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.At = s.now()
	s.sent = append(s.sent, r)
	return r
}

func (s *Service) date() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Truncate(time.Second)
}

// FaultKind is what happens to one request.
type FaultKind int

const (
	// NoFault: the request arrives, and so does its answer.
	NoFault FaultKind = iota
	// AnswerLost: the request is applied, its answer never comes.
	AnswerLost
	// Lost: the request never arrives, and the sender doesn't know.
	Lost
	// Late: the request arrives after its sender has given it up.
	Late
	// Duplicated: the request arrives twice, the second time after its answer.
	Duplicated
	// Throttled: the service rejects the request for its load.
	Throttled
	// NoTable: there is no table of that name.
	NoTable
	// Unreachable: the request can't be sent.
	Unreachable
)

// Fault is what happens to one request, and how long that takes on top of the
// service's latency.
type Fault struct {
	Kind FaultKind
	// After delays the answer, or the error that takes its place. A Late
	// or Duplicated request arrives this long after its sender has been told.
	After time.Duration
}

// Table is one process's connection to a [Service].
type Table struct {
	service *Service
	clock   *clock.Dual
	// Fault decides on each request; nil is no faults.
	Fault func(Request) Fault
}

// Connect returns the table as a process with this clock reaches it.
func (s *Service) Connect(clk *clock.Dual) *Table { return &Table{service: s, clock: clk} }

// PutLock is one attempt of a put.
func (t *Table) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	return t.send(ctx, Request{Op: "put", Key: row.Key, Owner: row.Owner, Row: row, Now: now})
}

// DeleteLock is one attempt of a conditional delete.
func (t *Table) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	return t.send(ctx, Request{Op: "delete", Key: key, Owner: owner})
}

func (t *Table) send(ctx context.Context, r Request) lock.RowResult {
	a := lock.RowResult{Attempt: outcome.Attempt{Sent: t.clock.Read()}}
	if ctx.Err() != nil {
		a.Outcome, a.Err = outcome.NotApplied, unavailable(ctx.Err())
		a.Received = a.Sent
		return a
	}
	var fault Fault
	r = t.service.record(r)
	if t.Fault != nil {
		fault = t.Fault(r)
	}
	t.deliver(ctx, r, fault, &a)
	a.Received = t.clock.Read()
	return a
}

// deliver delivers the request as its fault says.
func (t *Table) deliver(ctx context.Context, r Request, f Fault, a *lock.RowResult) {
	half := t.service.Latency / 2
	switch f.Kind {
	case NoFault:
		a.Outcome = outcome.Unknown
		if a.Err = t.delay(ctx, half); a.Err != nil {
			// Given up on the way: it arrives all the same.
			time.AfterFunc(half, func() { t.service.apply(r) })
			return
		}
		result, old := t.service.apply(r)
		date := t.service.date()
		if a.Err = t.delay(ctx, half+f.After); a.Err == nil {
			a.Outcome, a.Old, a.Date = result, old, date
		}
	case Duplicated:
		a.Outcome, a.Old = t.service.apply(r)
		a.Date = t.service.date()
		time.AfterFunc(f.After, func() { t.service.apply(r) })
	case AnswerLost:
		t.service.apply(r)
		a.Outcome, a.Err = outcome.Unknown, t.breakConnection(ctx, f.After)
	case Lost:
		a.Outcome, a.Err = outcome.Unknown, t.breakConnection(ctx, f.After)
	case Late:
		a.Outcome, a.Err = outcome.Unknown, t.breakConnection(ctx, 0)
		time.AfterFunc(f.After, func() { t.service.apply(r) })
	case Throttled:
		a.Outcome, a.Err = outcome.NotApplied, t.turnDown(ctx, f.After, "db_throttled", true)
		a.Date = t.service.date()
	case NoTable:
		a.Outcome, a.Err = outcome.NotApplied, t.turnDown(ctx, f.After, "db_unavailable", false)
		a.Date = t.service.date()
	case Unreachable:
		a.Outcome, a.Err = outcome.NotApplied, t.turnDown(ctx, f.After, "db_unavailable", true)
	}
}

// delay lets time pass until the request is given up.
func (t *Table) delay(ctx context.Context, d time.Duration) error {
	if err := t.clock.Sleep(ctx, d); err != nil {
		return unavailable(err)
	}
	return nil
}

func (t *Table) breakConnection(ctx context.Context, after time.Duration) error {
	if err := t.delay(ctx, t.service.Latency+after); err != nil {
		return err
	}
	return unavailable(errors.New("connection reset"))
}

func (t *Table) turnDown(ctx context.Context, after time.Duration, code string, retryable bool) error {
	_ = t.delay(ctx, t.service.Latency+after)
	return &outcome.Error{Code: code, Message: "refused by the test", Retryable: retryable}
}

func unavailable(cause error) error {
	return &outcome.Error{Code: "db_unavailable", Message: "no answer", Retryable: true, Cause: cause}
}

// ListLocks reads all rows of a tenant as one page.
func (t *Table) ListLocks(_ context.Context, id tenant.ID, after string) lock.Page {
	p := lock.Page{Attempt: outcome.Attempt{Outcome: outcome.Applied, Date: t.service.date()}}
	for _, r := range t.service.Rows() {
		if r.Key.Tenant == id && r.Key.Name > after {
			p.Rows = append(p.Rows, r)
		}
	}
	return p
}
