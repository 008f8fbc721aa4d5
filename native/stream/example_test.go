package stream_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tidelock-lua/tidelock/native/stream"
)

// A host offers the bytes of a file to scripts as a source.
func ExampleFromReader() {
	file := io.NopCloser(strings.NewReader("name,count\nAda,1\nGrace,2\n"))
	s := stream.New(stream.FromReader(file))
	defer s.Close()

	quiet := func(int) {}
	caller := stream.Caller{Context: context.Background(), CheckInterrupt: func() {}, Charge: quiet, Step: quiet}
	records := s.CSV(stream.CSVOptions{Header: true})
	for {
		names, fields, err := records.Next(caller)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(names, fields)
	}
	// Output:
	// [name count] [Ada 1]
	// [name count] [Grace 2]
	// EOF
}
