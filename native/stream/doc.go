// Package stream reads bytes that arrive over time, as text, lines, JSON lines or
// CSV, without ever holding all of them, and writes to outputs that the host has
// named. It is what native.stream and the bodies and rows of other modules stand
// on.
//
// A [Source] is where bytes come from: a file or pipe of the host, the body of
// an HTTP response, the rows of a query. A [Stream] reads a source for a
// [Caller], the call that waits for it. A [Sink] is where bytes go, and an
// [Output] writes to it. A [Set] is what one run has open.
//
// # Guarantees
//
// Bytes arrive unchanged and in order. All ways to read share one buffer, so a
// script may take a line and then the rest as CSV.
//
// Memory is bounded by the limit of the line, record or text that is requested,
// and charged to the run while it is being put together.
//
// A read waits no longer than the call may last, and nothing long is copied or
// written in one go: there is an interrupt check every 256 KiB. Only a CSV
// record is read as a whole. Whatever a run has opened is closed with the run,
// however it ends.
//
// # What each failure does
//
//	the source fails              stream_failed, or the source's own error; each later call returns it too
//	a line, record or text is     stream_too_large, with the line; the stream can't be read on
//	  over its limit
//	a line isn't JSON             stream_json, with the line; the next call reads the line after it
//	a record isn't CSV            stream_csv, with the line; the next call reads the record after it
//	the header isn't usable       stream_csv; each later call returns it too
//	a read is interrupted         the stream is closed: what was read in part is lost
//	a write is interrupted        the output is closed, and the locks around it are left to expire
//	anything after close          stream_closed
package stream
