package stream

import (
	"io"
	"maps"
	"slices"
	"strings"
)

// Streams are the streams that a host offers a tenant, by name. Each script that
// opens one calls the function anew. It must not block; an error that scripts
// are to see is a [*outcome.Error].
type Streams struct {
	// Inputs are what scripts may open.
	Inputs map[string]func() (Source, error)
	// Outputs are what scripts may create.
	Outputs map[string]func() (Sink, error)
}

// openMax is how many streams and outputs a run may have open when it opens
// another one by name: each has a buffer.
const openMax = 100

// Set is the streams and outputs that one run has open. One that is closed
// leaves the set. A set and its members are closed by the goroutine of the run.
type Set struct{ open map[io.Closer]struct{} }

// NewSet returns a set without any streams.
func NewSet() *Set { return &Set{open: map[io.Closer]struct{}{}} }

// Add returns a stream over src that belongs to the set.
func (s *Set) Add(src Source) *Stream {
	added := New(src)
	added.onClose = func() { delete(s.open, added) }
	s.open[added] = struct{}{}
	return added
}

// Open opens the input of that name. Its errors are [*outcome.Error].
func (s *Set) Open(offered Streams, name string) (*Stream, error) {
	open, err := find(s, "open", name, offered.Inputs)
	if err != nil {
		return nil, err
	}
	src, err := open()
	if err != nil {
		return nil, withContext(name, classify("open", err, "the stream can't be opened"))
	}
	return s.Add(src), nil
}

// Create opens the output of that name. Its errors are [*outcome.Error].
func (s *Set) Create(offered Streams, name string) (*Output, error) {
	create, err := find(s, "create", name, offered.Outputs)
	if err != nil {
		return nil, err
	}
	sink, err := create()
	if err != nil {
		return nil, withContext(name, classify("create", err, "the output can't be opened"))
	}
	created := NewOutput(sink)
	created.onClose = func() { delete(s.open, created) }
	s.open[created] = struct{}{}
	return created, nil
}

// Close closes all streams and outputs of the set.
func (s *Set) Close() {
	for member := range maps.Clone(s.open) {
		_ = member.Close() // the run is over: its script can't be told any more
	}
}

// flagOf is the flag of the command line that names a stream, by the operation.
var flagOf = map[string]string{"open": "stream", "create": "output"}

// find returns the function that opens name, while the set may have one more
// member.
func find[T any](s *Set, op, name string, offered map[string]func() (T, error)) (func() (T, error), error) {
	open, ok := offered[name]
	switch {
	case ok && len(s.open) >= openMax:
		return nil, withContext(name, fail(CodeBusy, op, "%d streams are open in this run, which is the most", openMax))
	case ok:
		return open, nil
	case len(offered) == 0:
		return nil, withContext(name, fail(CodeUnknown, op, "there is none of this name: the host has named none; tidelock run names one by --%s %.64s=FILE", flagOf[op], name))
	}
	names := slices.Sorted(maps.Keys(offered))
	return nil, withContext(name, fail(CodeUnknown, op, "there is none of this name: the host has named %s; tidelock run names one by --%s %.64s=FILE", strings.Join(names, ", "), flagOf[op], name))
}
