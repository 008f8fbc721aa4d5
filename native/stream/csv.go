package stream

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// CSVOptions configure a reader of CSV; see [csv.Reader].
type CSVOptions struct {
	// Header makes the first record name the fields of the others.
	Header bool
	// Separator lies between fields. The default is a comma.
	Separator rune
	// Comment begins lines that are skipped. By default none are.
	Comment rune
	// LazyQuotes lets quotes appear where they have no meaning.
	LazyQuotes bool
	// Ragged lets records differ in their number of fields. With a header they may
	// have fewer than it, never more.
	Ragged bool
	// Max is the most bytes that a record may have. The default is
	// [DefaultLineMax].
	Max int
}

// CSV reads the records of a stream.
type CSV struct {
	stream    *Stream
	options   CSVOptions
	csv       *csv.Reader // nil until the first record
	names     []string    // of the fields, if there is a header
	headerErr error       // with the header: no record can be read without one

	records int // read so far, the header too
	before  int // lines of the stream that were read by others
	lines   int // of the stream, when this reader has stopped
}

// CSV returns a reader of the records that are left.
func (s *Stream) CSV(o CSVOptions) *CSV {
	if o.Max == 0 {
		o.Max = DefaultLineMax
	}
	return &CSV{stream: s, options: o}
}

// Next returns the next record, and the names of its fields if there is a
// header; io.EOF if there is none. Both slices are valid until the next call.
func (r *CSV) Next(c Caller) (names, fields []string, err error) {
	err = r.stream.do(c, "csv", func() error {
		if r.csv == nil {
			if err := r.start(); err != nil {
				return err
			}
		}
		if r.options.Header && r.names == nil {
			if r.headerErr == nil {
				r.headerErr = r.readHeader()
			}
			if r.headerErr != nil {
				return r.headerErr
			}
		}
		fields, err = r.readRecord()
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

func (r *CSV) start() error {
	if err := r.stream.skipBOM(); err != nil {
		return err
	}
	// csv.Reader uses a buffer of this size as its own, so nothing is read ahead
	// behind the stream's back.
	r.csv = csv.NewReader(r.stream.buffer)
	r.csv.ReuseRecord = true
	r.csv.LazyQuotes = r.options.LazyQuotes
	r.csv.Comment = r.options.Comment
	if r.options.Separator != 0 {
		r.csv.Comma = r.options.Separator
	}
	if r.options.Ragged {
		r.csv.FieldsPerRecord = -1
	}
	return nil
}

func (r *CSV) readHeader() error {
	names, err := r.readRecord()
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

// readRecord returns the next record, of at most as many bytes as the options
// allow.
func (r *CSV) readRecord() ([]string, error) {
	s, from := r.stream, r.csv.InputOffset()
	r.before += s.lines - r.lines
	s.budget = r.options.Max
	fields, err := r.csv.Read()
	read := int(r.csv.InputOffset() - from)
	r.records++
	s.caller.Charge(read + 32*len(fields))
	if errors.Is(err, errRecordBytes) || read > r.options.Max {
		return nil, fail(CodeTooLarge, "", "record %d has more than %d bytes", r.records, r.options.Max)
	}
	bad, isBad := errors.AsType[*csv.ParseError](err)
	switch {
	case isBad:
		s.lines = r.before + bad.Line
	case err == nil:
		last := len(fields) - 1
		line, _ := r.csv.FieldPos(last)
		s.lines = r.before + line + strings.Count(fields[last], "\n")
	}
	r.lines = s.lines
	if isBad && s.sourceErr != io.EOF && s.sourceErr != nil {
		return nil, s.sourceErr // the record is only a symptom
	} else if isBad {
		return nil, &outcome.Error{Code: CodeCSV, Message: r.describe(bad) + s.described(), Cause: err}
	}
	return fields, err
}

func (r *CSV) describe(bad *csv.ParseError) string {
	line := r.before + bad.Line
	if errors.Is(bad.Err, csv.ErrFieldCount) {
		return fmt.Sprintf("line %d: %v", line, bad.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v", line, bad.Column, bad.Err)
}
