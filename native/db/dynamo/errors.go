package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// outcomeOf derives the outcome of an attempt from its round trip and the error of
// the SDK. The caller holds trip.mu.
func (s *Store) outcomeOf(ctx context.Context, trip *roundTrip, err error) (outcome.Outcome, error) {
	switch {
	case err == nil:
		return outcome.Applied, nil
	case trip.sent == nil:
		return outcome.NotApplied, notSent(ctx, trip, err)
	case trip.status >= 400 && trip.status < 500:
		return s.rejected(trip, err)
	default:
		return outcome.Unknown, s.unanswered(trip, err)
	}
}

func code(r types.CancellationReason) string {
	if r.Code == nil {
		return reasonNone
	}
	return *r.Code
}

func notSent(ctx context.Context, trip *roundTrip, err error) error {
	if !trip.signed && ctx.Err() == nil {
		return unavailable(true, err, "the request can't be signed: are there credentials for the table?")
	}
	return unavailable(true, err, "the table can't be reached")
}

// unanswered is the cause of an unknown outcome. Some failures inside the service
// mean too high a load: then the pause before the next attempt is longer.
func (s *Store) unanswered(trip *roundTrip, err error) error {
	switch failure, ok := errors.AsType[smithy.APIError](err); {
	case trip.doubt != nil:
		return unavailable(true, errors.Join(trip.doubt, err), "%s", trip.doubt.message)
	case ok && classOf(trip, failure) == throttled:
		return s.throttled(err)
	}
	return unavailable(true, err, "the table did not answer")
}

// rejected is the outcome if the service has rejected the request, and its cause.
// It holds even if the reason broke off or was damaged on its way.
func (s *Store) rejected(trip *roundTrip, err error) (outcome.Outcome, error) {
	failure, ok := errors.AsType[smithy.APIError](err)
	if trip.doubt != nil || !ok || failure.ErrorCode() == noCode {
		return outcome.NotApplied, unavailable(true, errors.Join(trip.asError(), err), "the table turned the request down, and its reason can't be read")
	}
	c := classOf(trip, failure)
	if (c == refused || c == canceled) && c != trip.refusal {
		trip.doubt = malformedAnswer("no such request is refused by %s", failure.ErrorCode())
		return outcome.NotApplied, unavailable(true, errors.Join(trip.doubt, err), "%s", trip.doubt.message)
	}
	switch c {
	case refused:
		return outcome.Refused, nil
	case canceled:
		return s.canceled(err)
	case conflicting:
		return outcome.NotApplied, conflict(err)
	case throttled:
		return outcome.NotApplied, s.throttled(err)
	case passing:
		return outcome.NotApplied, unavailable(true, err, "the table turned the request down for now (%s)", failure.ErrorCode())
	case outdated:
		// The next attempt is signed anew, for the time that the SDK has learned from
		// this response.
		return outcome.NotApplied, unavailable(true, err, "the request's signature was out of date (%s)", failure.ErrorCode())
	case expired:
		s.renewCredentials()
		return outcome.NotApplied, unavailable(true, err, "the credentials for the table have expired")
	case denied:
		return outcome.NotApplied, unavailable(false, err, "access to the table is denied (%s)", failure.ErrorCode())
	case missing:
		return outcome.NotApplied, unavailable(false, err, "table %q does not exist", s.table)
	case undecided:
		return outcome.Unknown, unavailable(true, err, "the table did not answer (%s)", failure.ErrorCode())
	default:
		return outcome.NotApplied, unavailable(false, err, "the table turned the request down (%s)", failure.ErrorCode())
	}
}

// noCode is the code of the SDK for an error that has none.
const noCode = "UnknownError"

// signatureTime is how far the time of a signature may be from the service's, as
// the SDK has it: the service allows five minutes.
const signatureTime = 4 * time.Minute

// classOf is the class of an error of the service. For a signature that is wrong
// and one that is out of date the service has the same codes.
func classOf(trip *roundTrip, failure smithy.APIError) class {
	c, known := classes[failure.ErrorCode()]
	switch {
	case c == denied && isOutdated(trip, failure):
		return outdated
	case !known && (trip.status == http.StatusTooManyRequests || isThrottle(failure)):
		return throttled
	case !known && trip.status == http.StatusRequestTimeout:
		return passing
	}
	return c
}

// isOutdated reports whether the request came too late or too early for its
// signature: it has waited for too long, the machine was suspended, or its clock
// was off.
func isOutdated(trip *roundTrip, failure smithy.APIError) bool {
	if !trip.date.IsZero() && !trip.signedFor.IsZero() && trip.date.Sub(trip.signedFor).Abs() > signatureTime {
		return true
	}
	text := failure.ErrorMessage()
	return strings.HasPrefix(text, "Signature expired") || strings.HasPrefix(text, "Signature not yet current")
}

// canceled is the outcome if the service has canceled a transaction, and its cause:
// a condition that did not hold comes before all others.
func (s *Store) canceled(err error) (outcome.Outcome, error) {
	failure, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return outcome.NotApplied, unavailable(true, err, "the table's answer can't be read")
	}
	if slices.ContainsFunc(failure.CancellationReasons, func(r types.CancellationReason) bool { return code(r) == reasonCondition }) {
		return outcome.Refused, nil
	}
	return outcome.NotApplied, s.cancellation(failure.CancellationReasons, err)
}

func (s *Store) cancellation(reasons []types.CancellationReason, err error) error {
	isConflict := false
	for _, reason := range reasons {
		switch c := code(reason); {
		case throttling[c]:
			return s.throttled(err)
		case c == reasonConflict:
			isConflict = true
		case c != reasonNone:
			return unavailable(false, err, "the table turned the transaction down (%s)", c)
		}
	}
	if len(reasons) == 0 {
		return unavailable(true, err, "the table canceled the transaction, and its reasons can't be read")
	}
	if !isConflict {
		return unavailable(false, err, "the table canceled the transaction without a reason")
	}
	return conflict(err)
}

// renewCredentials makes the next attempt get new ones.
func (s *Store) renewCredentials() {
	if cache, ok := s.credentials.(interface{ Invalidate() }); ok {
		cache.Invalidate()
	}
}

func isThrottle(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err).Bool()
}

// throttled is the cause of a request rejected because of the load. The log shows
// which part of the table was too hot; scripts don't see that.
func (s *Store) throttled(err error) error {
	s.log.Warn("the table is throttled", zap.String("table", s.table), zap.Strings("reasons", throttlingReasons(err)))
	return &outcome.Error{Code: db.CodeThrottled, Message: "the table refuses more requests for now", Retryable: true, Cause: err}
}

func throttlingReasons(err error) []string {
	var reasons []types.ThrottlingReason
	var provisioned *types.ProvisionedThroughputExceededException
	var limit *types.RequestLimitExceeded
	var throttling *types.ThrottlingException
	switch {
	case errors.As(err, &provisioned):
		reasons = provisioned.ThrottlingReasons
	case errors.As(err, &limit):
		reasons = limit.ThrottlingReasons
	case errors.As(err, &throttling):
		reasons = throttling.ThrottlingReasons
	}
	var names []string
	for _, r := range reasons {
		if r.Reason != nil {
			names = append(names, *r.Reason)
		}
	}
	return names
}

func conflict(err error) error {
	return &outcome.Error{Code: db.CodeContention, Message: "a transaction on the same entry is under way", Retryable: true, Cause: err}
}

func unavailable(retryable bool, cause error, format string, args ...any) *outcome.Error {
	return &outcome.Error{Code: db.CodeUnavailable, Message: fmt.Sprintf(format, args...), Retryable: retryable, Cause: cause}
}
