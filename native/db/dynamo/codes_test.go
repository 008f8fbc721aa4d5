package dynamo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

func TestEveryCodeOfTheServiceHasAClass(t *testing.T) {
	for name := range dynamodb.TypeRegistry.Entries {
		_, code, _ := strings.Cut(name, "#")
		if _, ok := classes[code]; !ok {
			t.Errorf("%s has no class", code)
		}
	}
}

// rejection is what a request gets that the service answers with a code.
func rejection(trip *roundTrip, code, message string) (outcome.Outcome, *outcome.Error) {
	now := clock.NewDual(clock.System()).Read()
	trip.sent = &now
	s := &Store{table: "test", log: zap.NewNop()}
	result, err := s.rejected(trip, &smithy.GenericAPIError{Code: code, Message: message})
	e, _ := errors.AsType[*outcome.Error](err)
	return result, e
}

// TestCodeDecidesWhatIsRaised says for each class what it becomes, and for some
// codes to which they belong.
func TestCodeDecidesWhatIsRaised(t *testing.T) {
	type raised struct {
		outcome   outcome.Outcome
		code      string
		retryable bool
		text      string
	}
	want := map[class]raised{
		turnedDown:  {outcome.NotApplied, db.CodeUnavailable, false, "turned the request down"},
		conflicting: {outcome.NotApplied, db.CodeContention, true, ""},
		throttled:   {outcome.NotApplied, db.CodeThrottled, true, ""},
		passing:     {outcome.NotApplied, db.CodeUnavailable, true, "for now"},
		outdated:    {outcome.NotApplied, db.CodeUnavailable, true, "out of date"},
		expired:     {outcome.NotApplied, db.CodeUnavailable, true, "expired"},
		denied:      {outcome.NotApplied, db.CodeUnavailable, false, "denied"},
		missing:     {outcome.NotApplied, db.CodeUnavailable, false, "does not exist"},
		undecided:   {outcome.Unknown, db.CodeUnavailable, true, "did not answer"},
	}
	namesCode := map[class]bool{turnedDown: true, passing: true, outdated: true, denied: true, undecided: true}
	for code, c := range classes {
		if c == refused || c == canceled {
			continue
		}
		w := want[c]
		got, e := rejection(&roundTrip{status: 400}, code, "told by the test")
		if got != w.outcome || e == nil || e.Code != w.code || e.Retryable != w.retryable || !strings.Contains(e.Message, w.text) {
			t.Errorf("%s: got %v and %+v, want %+v", code, got, e, w)
		} else if namesCode[c] && !strings.Contains(e.Message, code) {
			t.Errorf("%s: %q does not name it", code, e.Message)
		}
		if c != denied && strings.Contains(e.Message, "denied") {
			t.Errorf("%s: %q, but it is not denied", code, e.Message)
		}
	}
	for _, test := range []struct {
		status int
		code   string
		want   class
	}{
		{400, "BrandNewException", turnedDown}, {403, "BrandNewException", turnedDown}, {404, "BrandNewException", turnedDown},
		{429, "BrandNewException", throttled}, {408, "BrandNewException", passing},
		{403, "AccessDeniedException", denied}, {400, "AccessDeniedException", denied},
	} {
		got, e := rejection(&roundTrip{status: test.status}, test.code, "")
		if w := want[test.want]; got != w.outcome || e.Code != w.code || e.Retryable != w.retryable || !strings.Contains(e.Message, w.text) {
			t.Errorf("%d %s: got %v and %+v, want %+v", test.status, test.code, got, e, w)
		}
	}
}

// TestSignatureThatCameTooLateIsNoDenial has requests that have waited between
// signature and service, while the machine's clock is right.
func TestSignatureThatCameTooLateIsNoDenial(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, test := range []struct {
		name          string
		signed        time.Time
		code, message string
		retryable     bool
	}{
		{"too late", now.Add(-16 * time.Minute), "InvalidSignatureException", "", true},
		{"too early", now.Add(16 * time.Minute), "InvalidSignatureException", "", true},
		{"too late, by another code", now.Add(-6 * time.Minute), "AccessDeniedException", "", true},
		{"too late, as the service says", now, "InvalidSignatureException", "Signature expired: 20310506T065209Z is now earlier than 20310506T070309Z", true},
		{"too early, as the service says", now, "InvalidSignatureException", "Signature not yet current: 20310506T072409Z is still later than 20310506T071309Z", true},
		{"too late, by its own code", now, "RequestExpired", "", true},
		{"skewed", now, "RequestTimeTooSkewed", "", true},
		{"wrong", now, "InvalidSignatureException", "The request signature we calculated does not match the signature you provided.", false},
		{"wrong after a while", now.Add(-3 * time.Minute), "SignatureDoesNotMatch", "", false},
		{"no such key", now, "UnrecognizedClientException", "", false},
	} {
		got, e := rejection(&roundTrip{status: 400, date: now, signedFor: test.signed}, test.code, test.message)
		if got != outcome.NotApplied || e.Retryable != test.retryable || strings.Contains(e.Message, "denied") == test.retryable {
			t.Errorf("%s: got %v and %+v, want retryable %v", test.name, got, e, test.retryable)
		}
	}
}
