package dynamo

import (
	"context"
	"errors"
	"fmt"

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
	case isRefusal(err):
		return outcome.Refused, nil
	case trip.sent == nil:
		return outcome.NotApplied, notSent(ctx, trip, err)
	case trip.status >= 400 && trip.status < 500:
		return outcome.NotApplied, s.rejected(err)
	default:
		return outcome.Unknown, s.unanswered(err)
	}
}

// isRefusal reports whether err is a condition that did not hold.
func isRefusal(err error) bool {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return true
	}
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, reason := range canceled.CancellationReasons {
		if code(reason) == reasonCondition {
			return true
		}
	}
	return false
}

// Reasons of a transaction that was cancelled, one for each of its entries.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
)

// throttling are the reasons that mean too high a load.
var throttling = map[string]bool{"ProvisionedThroughputExceeded": true, "ThrottlingError": true}

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
func (s *Store) unanswered(err error) error {
	if isThrottle(err) {
		return s.throttled(err)
	}
	return unavailable(true, err, "the table did not answer")
}

// rejected is the cause if the service has rejected the request.
func (s *Store) rejected(err error) error {
	var failure smithy.APIError
	if !errors.As(err, &failure) {
		return unavailable(false, err, "the table's answer can't be read")
	}
	switch failure.ErrorCode() {
	case "TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException":
		return conflict(err)
	case "TransactionCanceledException":
		return s.canceled(err)
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired":
		s.renewCredentials()
		return unavailable(true, err, "the credentials for the table have expired")
	case "ResourceNotFoundException":
		return unavailable(false, err, "table %q does not exist", s.table)
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException",
		"MissingAuthenticationTokenException", "IncompleteSignatureException":
		// The SDK has learned the time for its signatures from this response.
		return unavailable(isClockSkew(err), err, "access to the table is denied")
	}
	if isThrottle(err) {
		return s.throttled(err)
	}
	return unavailable(false, err, "the table turned the request down (%s)", failure.ErrorCode())
}

// canceled is the cause if the service has cancelled a transaction for another
// reason than a condition.
func (s *Store) canceled(err error) error {
	var failure *types.TransactionCanceledException
	if !errors.As(err, &failure) {
		return unavailable(false, err, "the table's answer can't be read")
	}
	isConflict := false
	for _, reason := range failure.CancellationReasons {
		switch c := code(reason); {
		case throttling[c]:
			return s.throttled(err)
		case c == reasonConflict:
			isConflict = true
		case c != reasonNone:
			return unavailable(false, err, "the table turned the transaction down (%s)", c)
		}
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

// isClockSkew reports whether the SDK takes err for a signature that was out of
// date.
func isClockSkew(err error) bool {
	return retry.RetryableError{}.IsErrorRetryable(err).Bool()
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
