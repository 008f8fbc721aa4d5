package batch

import (
	"fmt"
	"io"
	"sync"
)

// write writes results, whole lines one after the other.
func (b *batch) write(out io.Writer) error {
	if b.Ordered {
		for e := range b.toWrite {
			if err := b.put(out, e, <-e.done); err != nil {
				return err
			}
		}
		return nil
	}
	type finished struct {
		entry *entry
		text  []byte
	}
	results := make(chan finished)
	go func() {
		defer close(results)
		var inFlight sync.WaitGroup
		places := make(chan struct{}, 4*b.Concurrency)
		for e := range b.toWrite {
			places <- struct{}{}
			inFlight.Go(func() {
				results <- finished{e, <-e.done}
				<-places
			})
		}
		inFlight.Wait()
	}()
	var failed error
	for f := range results {
		if failed == nil {
			if failed = b.put(out, f.entry, f.text); failed != nil {
				b.cancel(failed)
			}
		}
	}
	return failed
}

func (b *batch) put(out io.Writer, e *entry, text []byte) error {
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("results can't be written: %w", err)
	}
	if e.ok {
		b.sum.OK++
	} else {
		b.sum.Failed++
	}
	b.sum.Bytes += e.bytes
	if b.Progress != nil {
		b.Progress(b.sum)
	}
	return nil
}
