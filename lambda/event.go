package lambda

import (
	"bytes"
	"net/url"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// item is an event, or one message of a batch: what one run is started for.
type item struct {
	sources []string // names of its source that routes may match, most exact first
	message any      // what the sender wrote; it may be an envelope
	public  bool     // anyone may be the sender, so the message is no envelope
	// fields are what the script sees in addition to the message, which is added to
	// them under messageField. If they are nil, it sees the message itself.
	fields       value.Map
	messageField string
	encode       func(v any, max int64) ([]byte, *runtime.Error) // as of [runtime.Invocation]
	bytesMax     int64                                           // the largest response that the sender accepts; 0 is the platform's limit
}

// responseMax returns how large the response to an item may be.
func (it item) responseMax() int64 {
	if it.bytesMax > 0 {
		return it.bytesMax
	}
	return ResponseBytesMax
}

// event returns what the script sees.
func (it item) event(message any) any {
	if it.fields == nil {
		return message
	}
	if it.messageField != "" && message != nil {
		it.fields[it.messageField] = message
	}
	return it.fields
}

// kind is the kind of an event.

type kind int

const (
	directKind kind = iota // any JSON that a caller wrote
	httpKind
	batchKind       // of SQS or S3
	eventBridgeKind // of EventBridge
)

// kindOf recognises the events of a service by the fields that they all have.
func kindOf(event any) kind {
	m, _ := event.(value.Map)
	context := mapOf(m, "requestContext")
	switch {
	case textOf(m, "version") == "2.0" && mapOf(context, "http") != nil:
		return httpKind
	case textOf(m, "httpMethod") != "" && context != nil:
		return httpKind
	case textOf(m, "detail-type") != "" && textOf(m, "source") != "":
		return eventBridgeKind
	}
	if records, _ := m["Records"].(value.List); len(records) > 0 {
		first, _ := records[0].(value.Map)
		switch textOf(first, "eventSource") {
		case sourceSQS, sourceS3:
			return batchKind
		}
	}
	return directKind
}

// Values of eventSource.
const (
	sourceSQS = "aws:sqs"
	sourceS3  = "aws:s3"
)

// eventBridgeEvent reads an event of EventBridge.
func eventBridgeEvent(m value.Map) item {
	it := item{message: m["detail"], messageField: "detail"}
	it.fields = copyFields(m, value.Map{"kind": "eventbridge", "detail_type": m["detail-type"]},
		"id", "source", "time", "region", "account", "resources")
	resources, _ := m["resources"].(value.List)
	for _, r := range resources {
		if arn, ok := r.(string); ok {
			it.sources = append(it.sources, arn)
		}
	}
	source := textOf(m, "source")
	it.sources = append(it.sources, source+"/"+textOf(m, "detail-type"), source)
	return it
}

// queueMessage reads a message of a queue. Its body is text, which may hold an
// envelope.
func queueMessage(m value.Map) item {
	arn := textOf(m, "eventSourceARN")
	attributes := mapOf(m, "attributes")
	it := item{sources: []string{arn}, message: m["body"], messageField: "body"}
	it.fields = value.Map{"kind": "sqs", "id": textOf(m, "messageId"), "queue": arn, "message_attributes": messageAttributes(m)}
	if attributes != nil {
		it.fields["attributes"] = attributes
	}
	if body, ok := it.message.(string); ok && looksLikeObject(body) {
		if v, err := json.Decode([]byte(body)); err == nil && isEnvelope(v) {
			it.message = v
		}
	}
	return it
}

// messageAttributes returns the values of a message's attributes by their names.
func messageAttributes(m value.Map) value.Map {
	out := value.Map{}
	for name, v := range mapOf(m, "messageAttributes") {
		a, _ := v.(value.Map)
		if text, ok := a["stringValue"].(string); ok {
			out[name] = text
		} else if raw, ok := decodeBase64(textOf(a, "binaryValue")); ok {
			out[name] = raw
		}
	}
	return out
}

// bucketRecord reads a record of a bucket. The service sends the key of the
// object encoded as in a form.
func bucketRecord(m value.Map) (item, *runtime.Error) {
	s3 := mapOf(m, "s3")
	bucket, object := mapOf(s3, "bucket"), mapOf(s3, "object")
	key, err := url.QueryUnescape(textOf(object, "key"))
	if err != nil {
		return item{}, runtime.Errorf(runtime.EventInvalid, "the key of a record can't be decoded: %v", err)
	}
	it := item{sources: []string{textOf(bucket, "arn")}, public: true}
	it.fields = value.Map{
		"kind": "s3", "name": textOf(m, "eventName"), "time": textOf(m, "eventTime"), "region": textOf(m, "awsRegion"),
		"bucket": textOf(bucket, "name"),
		"object": copyFields(object, value.Map{"key": key, "version": object["versionId"], "etag": object["eTag"]}, "size", "sequencer"),
	}
	return it, nil
}

// envelope is an event with the tenant and the script that it is for. Either may
// be empty.
type envelope struct {
	tenant, script string
	event          any
}

// isEnvelope reports whether v names a tenant or a script, and has no fields that
// an envelope doesn't have.
func isEnvelope(v any) bool {
	m, ok := v.(value.Map)
	if !ok || isNull(m["tenant"]) && isNull(m["script"]) {
		return false
	}
	for name := range m {
		if name != "tenant" && name != "script" && name != "event" {
			return false
		}
	}
	return true
}

// readEnvelope reads an envelope; ok is false if v is none.
func readEnvelope(v any) (env envelope, ok bool, failed *runtime.Error) {
	if !isEnvelope(v) {
		return envelope{}, false, nil
	}
	m := v.(value.Map)
	for name, to := range map[string]*string{"tenant": &env.tenant, "script": &env.script} {
		if isNull(m[name]) {
			continue
		}
		if *to, ok = m[name].(string); !ok {
			return envelope{}, false, runtime.Errorf(runtime.EventInvalid, "the envelope's %s is no string", name)
		}
	}
	if env.event = m["event"]; env.event == (value.Null{}) {
		env.event = nil
	}
	return env, true, nil
}

// looksLikeObject reports whether a text may be a JSON object.
func looksLikeObject(text string) bool {
	return len(text) <= runtime.EventBytesMax && bytes.HasPrefix(bytes.TrimSpace([]byte(text[:min(len(text), 100)])), []byte("{"))
}

func textOf(m value.Map, name string) string {
	s, _ := m[name].(string)
	return s
}

func mapOf(m value.Map, name string) value.Map {
	inner, _ := m[name].(value.Map)
	return inner
}

// copyFields copies fields by their names, and removes fields that are nil or
// null.
func copyFields(from, to value.Map, names ...string) value.Map {
	for _, name := range names {
		to[name] = from[name]
	}
	for name, v := range to {
		if v == nil || v == (value.Null{}) {
			delete(to, name)
		}
	}
	return to
}
