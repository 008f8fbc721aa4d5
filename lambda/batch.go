package lambda

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// message is one of a batch, for which one run is started.
type message struct {
	piece
	id string
	// lane keeps an order: messages of a lane run one after the other, and none
	// after one that failed. "" is a lane of its own.
	lane string

	ran    bool
	failed *runtime.Error
}

// batch is what came in one event.
type batch struct {
	messages []*message
	// partial: the answer says which messages failed, and only those come
	// again. Otherwise all of them do when one fails, so that no more are begun
	// after a failure.
	partial bool

	mu     sync.Mutex // guards failed
	failed bool       // one of them has
}

// batch runs a script for each message of a queue, or record of a bucket.
func (h *Host) batch(i *invocation, m value.Map) ([]byte, *runtime.Error) {
	b, failed := h.readBatch(m["Records"].(value.List))
	if failed != nil {
		h.refused(i, failed)
		return nil, failed
	}
	lanes := make(chan []*message)
	var workers sync.WaitGroup
	for range min(h.Concurrency, len(b.messages)) {
		workers.Go(func() {
			for lane := range lanes {
				h.work(i, b, lane)
			}
		})
	}
	for _, lane := range b.lanes() {
		lanes <- lane
	}
	close(lanes)
	workers.Wait()
	return b.answer(i)
}

// readBatch reads all records before the first is run: one that can't be read
// is a failure of them all.
func (h *Host) readBatch(records value.List) (*batch, *runtime.Error) {
	b := &batch{}
	known := map[string]bool{}
	for n, v := range records {
		m, _ := v.(value.Map)
		var msg message
		var failed *runtime.Error
		switch textOf(m, "eventSource") {
		case fromQueue:
			msg.piece, msg.id = queueMessage(m), textOf(m, "messageId")
			if msg.id == "" {
				failed = runtime.Errorf(runtime.EventInvalid, "a message without messageId")
			}
			queue := textOf(m, "eventSourceARN")
			b.partial = h.partial[queue] && (n == 0 || b.partial)
			if strings.HasSuffix(queue, ".fifo") {
				msg.lane = "group " + textOf(mapOf(m, "attributes"), "MessageGroupId")
			}
		case fromBucket:
			msg.piece, failed = bucketRecord(m)
			b.partial = false
		default:
			failed = runtime.Errorf(runtime.EventInvalid, "a record of another source than the first")
		}
		if failed != nil {
			failed.Message = fmt.Sprintf("record %d: %s", n+1, failed.Message)
			return nil, failed
		}
		if same := textOf(m, "eventSourceARN") + " " + msg.id; msg.id != "" {
			if known[same] {
				continue // delivered twice: it is run, and answered, once
			}
			known[same] = true
		}
		b.messages = append(b.messages, &msg)
	}
	return b, nil
}

// lanes puts the messages in lanes, in their order.
func (b *batch) lanes() (out [][]*message) {
	at := map[string]int{}
	for _, m := range b.messages {
		n, ok := at[m.lane]
		if !ok || m.lane == "" {
			n = len(out)
			at[m.lane] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], m)
	}
	return out
}

// work runs the messages of a lane, as far as that may be.
func (h *Host) work(i *invocation, b *batch, lane []*message) {
	blocked := false
	for _, m := range lane {
		failed := b.holds(blocked)
		switch {
		case failed != nil:
		case i.ctx.Err() != nil:
			failed = runtime.Errorf(runtime.HostShutdown, "not begun: %s", runtime.Shutdown{}.Error())
		case i.near(h.Clock.ElapsedMax()):
			failed = runtime.Errorf(runtime.Timeout, "not begun: too little of the function's timeout was left")
		default:
			m.ran = true
			failed = h.run(i, m.piece).Error
		}
		b.note(m, failed)
		blocked = blocked || failed != nil
	}
}

// holds says why no message is begun any more.
func (b *batch) holds(blocked bool) *runtime.Error {
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

func (b *batch) note(m *message, failed *runtime.Error) {
	m.failed = failed
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = b.failed || failed != nil
}

// answer is what the platform is told: which messages come again, or that all
// do.
func (b *batch) answer(i *invocation) ([]byte, *runtime.Error) {
	type item struct {
		ID string `json:"itemIdentifier"`
	}
	again := []item{}
	begun := 0
	var first *message // that failed, one that ran if there is one
	for _, m := range b.messages {
		if m.ran {
			begun++
		}
		if m.failed != nil {
			again = append(again, item{m.id})
			if first == nil || m.ran && !first.ran {
				first = m
			}
		}
	}
	if begun < len(b.messages) {
		i.log.Warn("messages were not begun", zap.Int("messages", len(b.messages)), zap.Int("begun", begun), zap.Int("failed", len(again)))
	}
	switch {
	case b.partial:
		text, err := stdjson.Marshal(map[string][]item{"batchItemFailures": again})
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
