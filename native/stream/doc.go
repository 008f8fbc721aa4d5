// Package stream is native.stream: bytes that come piece by piece, as text,
// lines, JSON lines or CSV, without ever holding all of them; and outputs that
// the host has named.
//
// A [Source] is where bytes come from: a file or pipe of the host, the body of
// an HTTP response, the rows of a query. [Open] makes the handle that scripts
// read it by. [Stream] is the same in plain Go.
//
// # Guarantees
//
// Bytes arrive unchanged and in order; all ways to read share one buffer, so a
// script may take a line and then the rest as CSV. Memory is bounded by the
// limit of the line, record or text that is asked for, and counted against the
// run while it is being put together.
//
// A read waits no longer than the nearest end of the run, and nothing long is
// copied or written in one go: the clocks are looked at every 256 KiB, but for a
// single CSV record, which is read as a whole. Whatever a run has
// opened is closed when the run is, however it ends.
//
// # What each failure does
//
//	the source breaks off      stream_failed, or the source's own error; again at each later call
//	a line, record or text     stream_too_large, with the line; the stream can't be read on
//	  is over its limit
//	a line is no JSON          stream_json, with the line; the next call reads on behind it
//	a record is no CSV         stream_csv, with the line; the next call reads on behind it
//	a header is none           stream_csv; again at each later call
//	an end cuts a read off     the stream is closed: what was read half is lost
//	an end cuts a write off    the output is closed, and the locks around it run out by themselves
//	anything after close       stream_closed
package stream
