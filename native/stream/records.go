package stream

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// JSONLines reads a stream as lines that are JSON texts.
type JSONLines struct {
	stream *Stream
	max    int
	begun  bool
}

// JSONLines returns a reader of lines of max bytes at most.
func (s *Stream) JSONLines(max int) *JSONLines { return &JSONLines{stream: s, max: max} }

// Next returns what decode makes of the next line that isn't blank; io.EOF if
// there is none.
func (j *JSONLines) Next(c Caller, decode func(line []byte) (any, error)) (value any, err error) {
	s := j.stream
	err = s.during(c, "json_lines", func() error {
		if !j.begun {
			if err := s.skipMark(); err != nil {
				return err
			}
			j.begun = true
		}
		for {
			line, long, err := s.line(j.max)
			if err != nil {
				return err
			}
			if long != nil {
				line = long.bytes()
			}
			if isBlank(c, line) {
				continue
			}
			if value, err = decode(line); err != nil {
				return fail(CodeJSON, "", "line %d: %v", s.lines, err)
			}
			return nil
		}
	})
	return value, err
}

func isBlank(caller Caller, line []byte) bool {
	for i, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
		if i%blockBytes == blockBytes-1 {
			caller.CheckInterrupt()
		}
	}
	return true
}

// CSVOptions say how CSV is read; see [csv.Reader].
type CSVOptions struct {
	// Header: the first record names the fields of the others.
	Header bool
	// Separator lies between fields; 0 is a comma.
	Separator rune
	// Comment is what lines begin with that are skipped; 0 is none.
	Comment rune
	// LazyQuotes lets quotes appear where they mean nothing.
	LazyQuotes bool
	// Ragged lets records differ in how many fields they have. With a header
	// they may have fewer than it, never more.
	Ragged bool
	// Max is how many bytes a record may have at most; 0 is [DefaultLineMax].
	Max int
}

// CSV reads a stream as CSV.
type CSV struct {
	stream *Stream
	o      CSVOptions
	csv    *csv.Reader // nil until the first record
	names  []string    // of the fields, if there is a header
	wrong  error       // with the header: no record can be read without one

	records int // read so far, the header too
	before  int // lines of the stream that were read by others
	lines   int // of the stream, when this reader has stopped
}

// CSV returns a reader of records.
func (s *Stream) CSV(o CSVOptions) *CSV {
	if o.Max == 0 {
		o.Max = DefaultLineMax
	}
	return &CSV{stream: s, o: o}
}

// Next returns the next record, and the names of its fields if there is a
// header; io.EOF if there is none. Both slices are valid until the next call.
func (r *CSV) Next(c Caller) (names, fields []string, err error) {
	err = r.stream.during(c, "csv", func() error {
		if r.csv == nil {
			if err := r.begin(); err != nil {
				return err
			}
		}
		if r.o.Header && r.names == nil {
			if r.wrong == nil {
				r.wrong = r.header()
			}
			if r.wrong != nil {
				return r.wrong
			}
		}
		fields, err = r.record()
		if err == nil && r.names != nil && len(fields) > len(r.names) {
			line, _ := r.csv.FieldPos(0)
			return fail(CodeCSV, "", "line %d: %d fields, and the header names %d", r.before+line, len(fields), len(r.names))
		}
		return err
	})
	if err == nil {
		detach(c, fields)
	}
	return r.names, fields, err
}

// detach makes strings of their own of fields. They are parts of one string,
// which is worth keeping only for a field that is most of it.
func detach(c Caller, fields []string) {
	size := 0
	for _, field := range fields {
		size += len(field)
	}
	for i, field := range fields {
		if len(field) <= size/2 {
			fields[i] = clone(c, field)
		}
	}
}

func (r *CSV) begin() error {
	if err := r.stream.skipMark(); err != nil {
		return err
	}
	// It takes a buffer that is as large as this one for its own.
	r.csv = csv.NewReader(r.stream.buffer)
	r.csv.ReuseRecord = true
	r.csv.LazyQuotes = r.o.LazyQuotes
	r.csv.Comment = r.o.Comment
	if r.o.Separator != 0 {
		r.csv.Comma = r.o.Separator
	}
	if r.o.Ragged {
		r.csv.FieldsPerRecord = -1
	}
	return nil
}

func (r *CSV) header() error {
	names, err := r.record()
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fail(CodeCSV, "", "the header names %.64q twice", name)
		}
		seen[name] = true
	}
	r.names = append([]string{}, names...)
	return nil
}

// record returns the next record, which has no more than the bytes allowed.
func (r *CSV) record() ([]string, error) {
	s, from := r.stream, r.csv.InputOffset()
	r.before += s.lines - r.lines
	s.allow = r.o.Max
	fields, err := r.csv.Read()
	read := int(r.csv.InputOffset() - from)
	r.records++
	s.caller.Charge(read + 32*len(fields))
	if errors.Is(err, errAllowance) || read > r.o.Max {
		return nil, fail(CodeTooLarge, "", "record %d has more than %d bytes", r.records, r.o.Max)
	}
	wrong, isWrong := errors.AsType[*csv.ParseError](err)
	switch {
	case isWrong:
		s.lines = r.before + wrong.Line
	case err == nil:
		last := len(fields) - 1
		line, _ := r.csv.FieldPos(last)
		s.lines = r.before + line + strings.Count(fields[last], "\n")
	}
	r.lines = s.lines
	if isWrong && s.last != io.EOF && s.last != nil {
		return nil, s.last // it ended within a record for a reason
	} else if isWrong {
		return nil, &outcome.Error{Code: CodeCSV, Message: r.what(wrong), Cause: err}
	}
	return fields, err
}

func (r *CSV) what(wrong *csv.ParseError) string {
	line := r.before + wrong.Line
	if errors.Is(wrong.Err, csv.ErrFieldCount) {
		return fmt.Sprintf("line %d: %v", line, wrong.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v", line, wrong.Column, wrong.Err)
}
