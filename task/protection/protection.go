// Package protection keeps a task of Amazon ECS from being ended by a
// deployment or by scaling in while it has work.
//
// Without protection the platform sends SIGTERM, and SIGKILL two minutes later at
// the most: too soon for long scripts. Its agent is called when work begins and
// when none is left, not for each run. Work never waits for the agent, and calls
// that fail are repeated.
package protection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
)

const (
	pollInterval = time.Second      // of the task's work: what is shorter needs no protection
	idleTime     = 10 * time.Second // without work, until protection ends

	// protectionTime is the time for which protection is requested, the platform's
	// own default. It is renewed after half of it, and ends by itself when the task
	// is no more.
	protectionTime = 2 * time.Hour

	// expiryMax is how far the expiry in the agent's response may be from the one
	// that was requested: the platform's clock is another one.
	expiryMax = 5 * time.Minute

	callTimeout = 2 * time.Second // of one call of the agent
	responseMax = 64 << 10        // bytes of its response
	backoffMin  = time.Second     // after a call that failed, with full jitter
	backoffMax  = time.Minute
)

// Agent is the container agent of a task.
type Agent struct {
	url    string
	client *http.Client
	log    *zap.Logger
	jitter func() float64
}

// New returns the agent at uri, which the platform gives to its containers as
// ECS_AGENT_URI.
func New(uri string, log *zap.Logger) *Agent {
	return &Agent{
		url: strings.TrimSuffix(uri, "/") + "/task-protection/v1/state",
		client: &http.Client{
			Transport:     &http.Transport{}, // no proxy: the agent is on this machine
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		log:    log,
		jitter: rand.Float64,
	}
}

// keeper is the state of Keep.
type keeper struct {
	*Agent
	since    time.Time // protected since, zero if not
	inDoubt  bool      // the last call failed, and may have had its effect
	lastBusy time.Time
	nextCall time.Time // not before
	backoff  time.Duration
	logged   string // the error that was logged last
}

// Keep protects the task while busy reports that it has work, until ctx ends.
func (a *Agent) Keep(ctx context.Context, busy func() bool) {
	k := keeper{Agent: a, backoff: backoffMin}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.tick(ctx, busy())
		}
	}
}

// tick calls the agent if something has to change.
func (k *keeper) tick(ctx context.Context, busy bool) {
	now := time.Now()
	if busy {
		k.lastBusy = now
	}
	protected := !k.since.IsZero()
	want := busy || protected && now.Sub(k.lastBusy) < idleTime
	renew := protected && now.Sub(k.since) >= protectionTime/2
	if want == protected && !renew && !k.inDoubt || now.Before(k.nextCall) {
		return
	}
	err := k.set(ctx, want)
	switch {
	case err != nil:
		k.failed(err)
	case want:
		k.changed(now, "the task is protected: it has work")
	default:
		k.changed(time.Time{}, "the task is not protected any more: it has no work")
	}
}

func (k *keeper) changed(since time.Time, text string) {
	if k.since.IsZero() != since.IsZero() {
		k.log.Info(text)
	}
	k.since, k.inDoubt, k.nextCall, k.backoff, k.logged = since, false, time.Time{}, backoffMin, ""
}

// failed puts the next call off, and logs each error once.
func (k *keeper) failed(err error) {
	if text := err.Error(); text != k.logged {
		k.log.Warn("the protection of the task could not be changed; it is tried again", zap.Error(err))
		k.logged = text
	}
	k.inDoubt = true
	k.nextCall = time.Now().Add(time.Duration(k.jitter() * float64(k.backoff)))
	k.backoff = min(2*k.backoff, backoffMax)
	if !k.since.IsZero() && time.Since(k.since) >= protectionTime {
		k.since = time.Time{} // it has ended by itself
	}
}

// result is the agent's response; one of its fields is set.
type result struct {
	Protection *state                           // done
	Failure    *struct{ Reason, Detail string } // the platform refuses: DEPLOYMENT_BLOCKED
	Error      *struct{ Code, Message string }  // the platform could not be reached
}

// state is the protection of a task.
type state struct {
	ProtectionEnabled *bool
	ExpirationDate    *time.Time // nil without protection
	TaskArn           string
}

// check returns nil if s is the state that was requested: protection until an
// expiry, or none.
func (s state) check(enabled bool, expiry time.Time) error {
	switch {
	case s.TaskArn == "" || s.ProtectionEnabled == nil:
		return errors.New("the agent's response names no task and its state")
	case *s.ProtectionEnabled != enabled:
		return fmt.Errorf("protection=%v was requested, and the agent's response says %v", enabled, *s.ProtectionEnabled)
	case enabled && s.ExpirationDate == nil:
		return errors.New("the agent's response doesn't say until when the task is protected")
	case enabled && s.ExpirationDate.Sub(expiry).Abs() > expiryMax:
		return fmt.Errorf("protection until %v was requested, and the agent's response says %v",
			expiry.UTC().Format(time.RFC3339), s.ExpirationDate.UTC().Format(time.RFC3339))
	}
	return nil
}

// set calls the agent once.
func (a *Agent) set(ctx context.Context, enabled bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body := map[string]any{"ProtectionEnabled": enabled}
	if enabled {
		body["ExpiresInMinutes"] = int(protectionTime / time.Minute)
	}
	expiry := time.Now().Add(protectionTime)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, a.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, responseMax))
	if err != nil {
		return fmt.Errorf("the agent's response: %w", err)
	}
	var got result
	switch err := json.Unmarshal(text, &got); {
	case got.Failure != nil:
		return fmt.Errorf("%s: %s", got.Failure.Reason, got.Failure.Detail)
	case got.Error != nil:
		return fmt.Errorf("%s: %s", got.Error.Code, got.Error.Message)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the agent answered %s", response.Status)
	case err != nil:
		return fmt.Errorf("the agent's response: %w", err)
	case got.Protection == nil:
		return fmt.Errorf("the agent's response says neither yes nor no")
	}
	return got.Protection.check(enabled, expiry)
}
