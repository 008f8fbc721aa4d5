package dynamo

// class is what an error code of the service means for the request.
type class int

const (
	// turnedDown: not applied, and never will be. Codes that are not in the table
	// below count as turnedDown.
	turnedDown  class = iota
	refused           // its condition did not hold
	canceled          // a transaction was not made; its reasons are in the answer
	conflicting       // not applied: a transaction on the same item is under way
	throttled         // not applied: the load is too high
	passing           // not applied, but it may be when it is sent again
	outdated          // not applied: its signature was too old, or not valid yet
	expired           // not applied: its credentials have expired
	denied            // not applied: its sender may not do this
	missing           // not applied: there is no such table
	undecided         // it may have been applied
)

// classes are the error codes that the service documents: those of all operations,
// those of its signatures, and those that all services of AWS have in common. The
// service has more than one name for some of them.
var classes = map[string]class{
	"ConditionalCheckFailedException": refused,
	"TransactionCanceledException":    canceled,

	"TransactionConflictException":     conflicting,
	"TransactionInProgressException":   conflicting,
	"ReplicatedWriteConflictException": conflicting,

	"ProvisionedThroughputExceededException": throttled,
	"RequestLimitExceeded":                   throttled,
	"ThrottlingException":                    throttled,
	"Throttling":                             throttled,
	"ThrottledException":                     throttled,
	"RequestThrottled":                       throttled,
	"RequestThrottledException":              throttled,
	"TooManyRequestsException":               throttled,
	"SlowDown":                               throttled,
	"LimitExceededException":                 throttled, // too many changes of tables at once

	"InvalidEndpointException": passing,
	"ResourceInUseException":   passing,
	"TableInUseException":      passing,
	"RequestTimeout":           passing, // the request did not come as a whole
	"RequestTimeoutException":  passing,

	"RequestExpired":                outdated,
	"RequestTimeTooSkewed":          outdated,
	"RequestTimeTooSkewedException": outdated,
	"RequestInTheFuture":            outdated,

	"ExpiredToken":          expired,
	"ExpiredTokenException": expired,
	"TokenRefreshRequired":  expired,

	"AccessDenied":                        denied,
	"AccessDeniedException":               denied,
	"AuthFailure":                         denied,
	"IncompleteSignature":                 denied,
	"IncompleteSignatureException":        denied,
	"InvalidAccessKeyId":                  denied,
	"InvalidClientTokenId":                denied,
	"InvalidSignatureException":           denied,
	"MissingAuthenticationToken":          denied,
	"MissingAuthenticationTokenException": denied,
	"NotAuthorized":                       denied,
	"OptInRequired":                       denied,
	"SignatureDoesNotMatch":               denied,
	"UnauthorizedOperation":               denied,
	"UnrecognizedClientException":         denied,

	"ResourceNotFoundException": missing,
	"TableNotFoundException":    missing,

	// A failure inside the service has a status of 500 or more, which says the same.
	"InternalFailure":             undecided,
	"InternalServerError":         undecided,
	"RequestAbortedException":     undecided, // it broke off before the answer was sent
	"ServiceUnavailable":          undecided,
	"ServiceUnavailableException": undecided,

	"IdempotentParameterMismatchException":     turnedDown,
	"InvalidAction":                            turnedDown,
	"InvalidParameterCombination":              turnedDown,
	"InvalidParameterValue":                    turnedDown,
	"InvalidQueryParameter":                    turnedDown,
	"ItemCollectionSizeLimitExceededException": turnedDown,
	"MalformedHttpRequestException":            turnedDown,
	"MalformedQueryString":                     turnedDown,
	"MissingAction":                            turnedDown,
	"MissingParameter":                         turnedDown,
	"RequestEntityTooLargeException":           turnedDown,
	"SerializationException":                   turnedDown,
	"UnknownOperationException":                turnedDown,
	"ValidationError":                          turnedDown,
	"ValidationException":                      turnedDown,

	// Of operations that are not used here.
	"BackupInUseException":                    turnedDown,
	"BackupNotFoundException":                 turnedDown,
	"ContinuousBackupsUnavailableException":   turnedDown,
	"DuplicateItemException":                  turnedDown,
	"ExportConflictException":                 turnedDown,
	"ExportNotFoundException":                 turnedDown,
	"GlobalTableAlreadyExistsException":       turnedDown,
	"GlobalTableNotFoundException":            turnedDown,
	"ImportConflictException":                 turnedDown,
	"ImportNotFoundException":                 turnedDown,
	"IndexNotFoundException":                  turnedDown,
	"InvalidExportTimeException":              turnedDown,
	"InvalidRestoreTimeException":             turnedDown,
	"PointInTimeRecoveryUnavailableException": turnedDown,
	"PolicyNotFoundException":                 turnedDown,
	"ReplicaAlreadyExistsException":           turnedDown,
	"ReplicaNotFoundException":                turnedDown,
	"TableAlreadyExistsException":             turnedDown,
}

// Reasons of a transaction that was canceled, one for each of its entries.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
)

// throttling are the reasons that mean too high a load.
var throttling = map[string]bool{"ProvisionedThroughputExceeded": true, "ThrottlingError": true}
