// Package protection keeps a task of Amazon ECS from being ended by a
// deployment or by scaling in while it has work.
//
// The platform would send SIGTERM, and SIGKILL two minutes later at the most:
// too soon for long scripts. Its agent is asked when work begins and when none
// is left, not for each run. Work never waits for the agent, and no failure
// keeps it from being asked again.
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
	look   = time.Second      // how often the task is looked at: what is shorter needs no protection
	linger = 10 * time.Second // for so long without work, protection stays

	// lasts is what is asked for: the platform's own default. It is asked for
	// anew after half of it, and ends by itself when the task is no more.
	lasts = 2 * time.Hour

	// expiryMax is how far the expiry that the agent answers may be from what was
	// asked for: the platform's clock is another one.
	expiryMax = 5 * time.Minute

	callTime   = 2 * time.Second // of one call of the agent
	answerMax  = 64 << 10        // bytes of its answer
	pauseFirst = time.Second     // after a call that failed, with full jitter
	pauseMax   = time.Minute
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

// keeping is what Keep knows.
type keeping struct {
	*Agent
	since    time.Time // protected since, zero if not
	unsure   bool      // the last call failed: it may have got through
	lastBusy time.Time
	notUntil time.Time // the next call
	pause    time.Duration
	warned   string // the trouble that was logged last
}

// Keep protects the task while busy says that it has work, until ctx ends.
func (a *Agent) Keep(ctx context.Context, busy func() bool) {
	k := keeping{Agent: a, pause: pauseFirst}
	ticker := time.NewTicker(look)
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
func (k *keeping) tick(ctx context.Context, busy bool) {
	now := time.Now()
	if busy {
		k.lastBusy = now
	}
	protected := !k.since.IsZero()
	want := busy || protected && now.Sub(k.lastBusy) < linger
	renew := protected && now.Sub(k.since) >= lasts/2
	if want == protected && !renew && !k.unsure || now.Before(k.notUntil) {
		return
	}
	err := k.set(ctx, want)
	switch {
	case err != nil:
		k.failed(err)
	case want:
		k.protectedSince(now, "the task is protected: it has work")
	default:
		k.protectedSince(time.Time{}, "the task is not protected any more: it has no work")
	}
}

func (k *keeping) protectedSince(since time.Time, text string) {
	if k.since.IsZero() != since.IsZero() {
		k.log.Info(text)
	}
	k.since, k.unsure, k.notUntil, k.pause, k.warned = since, false, time.Time{}, pauseFirst, ""
}

// failed puts the next call off, and warns once of each trouble.
func (k *keeping) failed(err error) {
	if text := err.Error(); text != k.warned {
		k.log.Warn("the protection of the task could not be changed; it is tried again", zap.Error(err))
		k.warned = text
	}
	k.unsure = true
	k.notUntil = time.Now().Add(time.Duration(k.jitter() * float64(k.pause)))
	k.pause = min(2*k.pause, pauseMax)
	if !k.since.IsZero() && time.Since(k.since) >= lasts {
		k.since = time.Time{} // it has ended by itself
	}
}

// answer is what the agent says; one of its fields is there.
type answer struct {
	Protection *state                           // done
	Failure    *struct{ Reason, Detail string } // the platform says no: DEPLOYMENT_BLOCKED
	Error      *struct{ Code, Message string }  // it couldn't be asked
}

// state is the protection of a task.
type state struct {
	ProtectionEnabled *bool
	ExpirationDate    *time.Time // nil without protection
	TaskArn           string
}

// check returns nil if s is the state that was asked for: protection until an
// expiry, or none.
func (s state) check(enabled bool, expiry time.Time) error {
	switch {
	case s.TaskArn == "" || s.ProtectionEnabled == nil:
		return errors.New("the agent's answer names no task and its state")
	case *s.ProtectionEnabled != enabled:
		return fmt.Errorf("the agent was asked for protection=%v, and answers %v", enabled, *s.ProtectionEnabled)
	case enabled && s.ExpirationDate == nil:
		return errors.New("the agent's answer doesn't say until when the task is protected")
	case enabled && s.ExpirationDate.Sub(expiry).Abs() > expiryMax:
		return fmt.Errorf("the agent was asked for protection until %v, and answers %v", expiry.UTC().Format(time.RFC3339), s.ExpirationDate.UTC().Format(time.RFC3339))
	}
	return nil
}

// set asks the agent once.
func (a *Agent) set(ctx context.Context, enabled bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	body := map[string]any{"ProtectionEnabled": enabled}
	if enabled {
		body["ExpiresInMinutes"] = int(lasts / time.Minute)
	}
	expiry := time.Now().Add(lasts)
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
	text, err = io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return fmt.Errorf("the agent's answer: %w", err)
	}
	var got answer
	switch err := json.Unmarshal(text, &got); {
	case got.Failure != nil:
		return fmt.Errorf("%s: %s", got.Failure.Reason, got.Failure.Detail)
	case got.Error != nil:
		return fmt.Errorf("%s: %s", got.Error.Code, got.Error.Message)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the agent answered %s", response.Status)
	case err != nil:
		return fmt.Errorf("the agent's answer: %w", err)
	case got.Protection == nil:
		return fmt.Errorf("the agent's answer says neither yes nor no")
	}
	return got.Protection.check(enabled, expiry)
}
