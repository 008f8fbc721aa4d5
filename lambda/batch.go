package lambda

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// message is a message of a batch. One run is started for each.
type message struct {
	item
	id string
	// group is the message group. Messages of a group run in order, and none
	// runs after one that failed. A message without a group is one of its own.
	group string

	begun  bool
	failed *runtime.Error
}

// batch is the messages of one event.
type batch struct {
	messages []*message
	// partial is set if the response names the messages that failed: only those
	// are delivered again. Otherwise all are when one fails, so that no more are
	// begun after a failure.
	partial bool

	mu     sync.Mutex // guards failed
	failed bool       // whether a message has
}

// batch runs a script for each message of a queue, or record of a bucket.
func (h *Host) batch(i *invocation, m value.Map) ([]byte, *runtime.Error) {
	b, failed := h.readBatch(m["Records"].(value.List))
	if failed != nil {
		h.logRefused(i, failed)
		return nil, failed
	}
	groups := make(chan []*message)
	var workers sync.WaitGroup
	for range min(h.Concurrency, len(b.messages)) {
		workers.Go(func() {
			for group := range groups {
				h.runGroup(i, b, group)
			}
		})
	}
	for _, group := range b.groups() {
		groups <- group
	}
	close(groups)
	workers.Wait()
	return b.response(i)
}

// readBatch reads all records before the first is run: one that can't be read
// fails the batch.
func (h *Host) readBatch(records value.List) (*batch, *runtime.Error) {
	b := &batch{}
	seen := map[string]bool{}
	for n, v := range records {
		m, _ := v.(value.Map)
		var msg message
		var failed *runtime.Error
		switch textOf(m, "eventSource") {
		case sourceSQS:
			msg.item, msg.id = queueMessage(m), textOf(m, "messageId")
			if msg.id == "" {
				failed = runtime.Errorf(runtime.EventInvalid, "a message without messageId")
			}
			queue := textOf(m, "eventSourceARN")
			b.partial = h.partial[queue] && (n == 0 || b.partial)
			if strings.HasSuffix(queue, ".fifo") {
				msg.group = "group " + textOf(mapOf(m, "attributes"), "MessageGroupId")
			}
		case sourceS3:
			msg.item, failed = bucketRecord(m)
			b.partial = false
		default:
			failed = runtime.Errorf(runtime.EventInvalid, "a record of another source than the first")
		}
		if failed != nil {
			failed.Message = fmt.Sprintf("record %d: %s", n+1, failed.Message)
			return nil, failed
		}
		if same := textOf(m, "eventSourceARN") + " " + msg.id; msg.id != "" {
			if seen[same] {
				continue // delivered twice: it is run, and reported, once
			}
			seen[same] = true
		}
		b.messages = append(b.messages, &msg)
	}
	return b, nil
}

// groups returns the messages by their groups, in their order.
func (b *batch) groups() (out [][]*message) {
	at := map[string]int{} // where a group is in out
	for _, m := range b.messages {
		n, ok := at[m.group]
		if !ok || m.group == "" {
			n = len(out)
			at[m.group] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], m)
	}
	return out
}

// runGroup runs the messages of a group until one fails. Those after it fail
// without being begun.
func (h *Host) runGroup(i *invocation, b *batch, group []*message) {
	blocked := false
	for _, m := range group {
		failed := b.refusal(blocked)
		switch {
		case failed != nil:
		case i.ctx.Err() != nil:
			failed = runtime.Errorf(runtime.HostShutdown, "not begun: %s", runtime.Shutdown{}.Error())
		case i.exhausted(h.Clock.ElapsedMax()):
			failed = runtime.Errorf(runtime.Timeout, "not begun: too little of the function's timeout was left")
		default:
			m.begun = true
			failed = h.run(i, m.item).Error
		}
		b.finish(m, failed)
		blocked = blocked || failed != nil
	}
}

// refusal returns why no message may be begun any more, or nil.
func (b *batch) refusal(blocked bool) *runtime.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case blocked:
		return runtime.Errorf(runtime.Cancelled, "not begun: an earlier one of its group failed")
	case b.failed && !b.partial:
		return runtime.Errorf(runtime.Cancelled, "not begun: another one of its batch failed")
	}
	return nil
}

// finish sets the outcome of a message.
func (b *batch) finish(m *message, failed *runtime.Error) {
	m.failed = failed
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = b.failed || failed != nil
}

// response returns the response to the platform: which messages it shall deliver
// again, or that it shall deliver all.
func (b *batch) response(i *invocation) ([]byte, *runtime.Error) {
	failures := []events.SQSBatchItemFailure{}
	begun := 0
	var first *message // that failed; one that was begun if there is one
	for _, m := range b.messages {
		if m.begun {
			begun++
		}
		if m.failed != nil {
			failures = append(failures, events.SQSBatchItemFailure{ItemIdentifier: m.id})
			if first == nil || m.begun && !first.begun {
				first = m
			}
		}
	}
	if begun < len(b.messages) {
		i.log.Warn("messages were not begun", zap.Int("messages", len(b.messages)), zap.Int("begun", begun), zap.Int("failed", len(failures)))
	}
	switch {
	case b.partial:
		text, err := stdjson.Marshal(events.SQSEventResponse{BatchItemFailures: failures})
		if err != nil {
			panic(err) // strings always encode
		}
		return text, nil
	case first == nil:
		return []byte("null"), nil
	case len(b.messages) == 1:
		return nil, first.failed
	}
	e := *first.failed
	e.Message = fmt.Sprintf("one of %d messages failed, so all of them come again: %s", len(b.messages), e.Message)
	return nil, &e
}
