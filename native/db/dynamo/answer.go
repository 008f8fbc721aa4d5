package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers that only the service's answers have.
const (
	headerRequestID = "X-Amzn-Requestid"
	headerChecksum  = "X-Amz-Crc32"
	contentType     = "application/x-amz-json-1.0"
)

// presizedMax bounds the buffer that is made for an answer from the length in its
// header, before any of the body has come.
const presizedMax = 1 << 20

// doubt is why an answer is not believed.
type doubt struct {
	message string // for scripts
	detail  error  // for operators
}

func (d *doubt) Error() string { return d.message + ": " + d.detail.Error() }

func (d *doubt) Unwrap() error { return d.detail }

func stranger(detail string, args ...any) *doubt {
	return &doubt{
		"the answer is not the table's: something else answers in its place",
		fmt.Errorf(detail+"; is db.endpoint right, or is there a proxy in between?", args...),
	}
}

func brokenOff(err error) *doubt { return &doubt{"the table's answer broke off", err} }

func damaged(detail string, args ...any) *doubt {
	return &doubt{"the table's answer was damaged on its way", fmt.Errorf(detail, args...)}
}

// malformedAnswer is the doubt about an answer of the service that does not fit the
// request.
func malformedAnswer(detail string, args ...any) *doubt {
	return &doubt{"the table's answer does not fit the request", fmt.Errorf(detail, args...)}
}

// receive reads the response as a whole, notes it in trip, and returns it with its
// body in memory. The error is a [doubt]: then the SDK sees nothing of the
// response, neither its body nor its date, from which it would learn the time for
// its signatures.
func (c *httpClient) receive(trip *roundTrip, r *http.Response) (*http.Response, error) {
	defer r.Body.Close()
	if d := checkOrigin(r); d != nil {
		return nil, trip.markDoubt(d)
	}
	if id := r.Header.Get(headerRequestID); !c.answers.add(id) {
		return nil, trip.markDoubt(stranger("status %d with the request id %q of an earlier answer", r.StatusCode, id))
	}
	trip.markAnswered(r)
	body, err := readBody(r)
	if err != nil {
		return nil, trip.markDoubt(brokenOff(err))
	}
	if d := checkBody(r, body); d != nil {
		return nil, trip.markDoubt(d)
	}
	trip.markBody(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, nil
}

// checkOrigin returns a doubt if the headers are not the service's. A success needs
// a checksum; a failure doesn't, because emulators send none with failures.
func checkOrigin(r *http.Response) *doubt {
	switch {
	case r.Header.Get(headerRequestID) == "":
		return stranger("status %d without a request id", r.StatusCode)
	case !isContentType(r.Header.Get("Content-Type")):
		return stranger("status %d with content of type %q, want %s", r.StatusCode, r.Header.Get("Content-Type"), contentType)
	case r.Header.Get("Age") != "":
		return stranger("status %d from a cache", r.StatusCode)
	case r.StatusCode < 400 && r.StatusCode != http.StatusOK:
		return stranger("status %d, which the service does not use", r.StatusCode)
	case r.StatusCode == http.StatusOK && r.Header.Get(headerChecksum) == "":
		return stranger("status 200 without a checksum")
	}
	return nil
}

func isContentType(header string) bool {
	kind, _, _ := strings.Cut(header, ";")
	return strings.EqualFold(strings.TrimSpace(kind), contentType)
}

func readBody(r *http.Response) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > presizedMax {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// checkBody returns a doubt if the body isn't the one that the service has sent.
func checkBody(r *http.Response, body []byte) *doubt {
	header := r.Header.Get(headerChecksum)
	if header == "" { // a failure, told by an emulator
		if !json.Valid(body) {
			return brokenOff(errors.New("no checksum, and the text is no JSON"))
		}
		return nil
	}
	want, err := strconv.ParseUint(header, 10, 32)
	if got := crc32.ChecksumIEEE(body); err != nil || uint32(want) != got {
		return damaged("its checksum is %d, want %s", got, header)
	}
	if len(body) == 0 || body[0] != '{' {
		return malformedAnswer("the text is no JSON object")
	}
	return nil
}

// signedAt is the time for which a request is signed, zero if it is unknown.
func signedAt(r *http.Request) time.Time {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}
