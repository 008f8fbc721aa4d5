package stream

// JSONLines reads the lines of a stream, each of which is a JSON text.
type JSONLines struct {
	stream  *Stream
	max     int
	started bool
}

// JSONLines returns a reader of the lines that are left, of max bytes at most.
func (s *Stream) JSONLines(max int) *JSONLines { return &JSONLines{stream: s, max: max} }

// Next returns what decode makes of the next line that isn't blank; io.EOF if
// there is none.
func (j *JSONLines) Next(c Caller, decode func(line []byte) (any, error)) (value any, err error) {
	s := j.stream
	err = s.do(c, "json_lines", func() error {
		if !j.started {
			if err := s.skipBOM(); err != nil {
				return err
			}
			j.started = true
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
				return fail(CodeJSON, "", "line %d: %v%s", s.lines, err, s.described())
			}
			return nil
		}
	})
	return value, err
}

// isBlank reports whether line is JSON's white space only.
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
