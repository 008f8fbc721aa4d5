package main

import (
	"io"
	"os"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
)

// openStreams returns the streams and outputs that flags name, for native.stream.
// A file is opened when a script opens the stream.
func (f runFlags) openStreams(stdin io.Reader) stream.Streams {
	s := stream.Streams{
		Inputs:  map[string]func() (stream.Source, error){},
		Outputs: map[string]func() (stream.Sink, error){},
	}
	for name, path := range f.streams {
		s.Inputs[name] = func() (stream.Source, error) {
			if path == "-" {
				return stream.FromReader(io.NopCloser(stdin)), nil
			}
			file, err := os.Open(path)
			if err != nil {
				return nil, openError("open", err)
			}
			source, err := stream.FromFile(file)
			if err != nil {
				return nil, openError("open", err)
			}
			return source, nil
		}
	}
	for name, path := range f.outputs {
		s.Outputs[name] = func() (stream.Sink, error) {
			file, err := os.Create(path)
			if err != nil {
				return nil, openError("create", err)
			}
			return stream.FromWriter(file), nil
		}
	}
	return s
}

// openError returns an error with its text: the script is the operator's own.
func openError(op string, err error) error {
	return &outcome.Error{Code: stream.CodeFailed, Op: op, Message: err.Error()}
}
