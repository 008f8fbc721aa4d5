package lambda

import (
	"bytes"
	"net/url"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// item is what one run is started for.
type item struct {
	sources []string // names of where it comes from, as routes match them
	message any      // what the sender wrote; it may be an envelope
	public  bool     // anybody may be the sender: no envelope is opened
	// fields is what the script sees besides the message, which lies in it
	// under slot. nil: the script sees the message itself.
	fields       value.Map
	messageField string
	encode       func(v any, max int64) ([]byte, *runtime.Error) // as of [runtime.Invocation]
}

// event is what the script sees.
func (p item) event(message any) any {
	if p.fields == nil {
		return message
	}
	if p.messageField != "" && message != nil {
		p.fields[p.messageField] = message
	}
	return p.fields
}

type kind int

const (
	directKind kind = iota // whatever a caller wrote
	httpKind
	batchKind       // of SQS or S3
	eventBridgeKind // of EventBridge
)

// kindOf tells what a service has sent by the fields that all its events have.
func kindOf(event any) kind {
	m, _ := event.(value.Map)
	about := mapOf(m, "requestContext")
	switch {
	case textOf(m, "version") == "2.0" && mapOf(about, "http") != nil:
		return httpKind
	case textOf(m, "httpMethod") != "" && about != nil:
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

// eventBridgeEvent is an event of EventBridge.
func eventBridgeEvent(m value.Map) item {
	p := item{message: m["detail"], messageField: "detail"}
	p.fields = copyFields(m, value.Map{"kind": "eventbridge", "detail_type": m["detail-type"]},
		"id", "source", "time", "region", "account", "resources")
	resources, _ := m["resources"].(value.List)
	for _, r := range resources {
		if arn, ok := r.(string); ok {
			p.sources = append(p.sources, arn)
		}
	}
	source := textOf(m, "source")
	p.sources = append(p.sources, source+"/"+textOf(m, "detail-type"), source)
	return p
}

// queueMessage is a message of a queue. Its body is text; an envelope in it is
// opened.
func queueMessage(m value.Map) item {
	arn := textOf(m, "eventSourceARN")
	attributes := mapOf(m, "attributes")
	p := item{sources: []string{arn}, message: m["body"], messageField: "body"}
	p.fields = value.Map{"kind": "sqs", "id": textOf(m, "messageId"), "queue": arn, "message_attributes": messageAttributes(m)}
	if attributes != nil {
		p.fields["attributes"] = attributes
	}
	if body, ok := p.message.(string); ok && looksLikeObject(body) {
		if v, err := json.Decode([]byte(body)); err == nil && isEnvelope(v) {
			p.message = v
		}
	}
	return p
}

// messageAttributes are a message's own attributes as name and value.
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

// bucketRecord is a record of a bucket. Its key is decoded: the service sends
// it as in a form.
func bucketRecord(m value.Map) (item, *runtime.Error) {
	s3 := mapOf(m, "s3")
	bucket, object := mapOf(s3, "bucket"), mapOf(s3, "object")
	key, err := url.QueryUnescape(textOf(object, "key"))
	if err != nil {
		return item{}, runtime.Errorf(runtime.EventInvalid, "the key of a record can't be decoded: %v", err)
	}
	p := item{sources: []string{textOf(bucket, "arn")}, public: true}
	p.fields = value.Map{
		"kind": "s3", "name": textOf(m, "eventName"), "time": textOf(m, "eventTime"), "region": textOf(m, "awsRegion"),
		"bucket": textOf(bucket, "name"),
		"object": copyFields(object, value.Map{"key": key, "version": object["versionId"], "etag": object["eTag"]}, "size", "sequencer"),
	}
	return p, nil
}

// envelope is a letter that says whom it is for.
type envelope struct {
	tenant, script string
	event          any
}

// isEnvelope says whether v has no other fields than an envelope has, and one
// of those that say whom it is for.
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

func readEnvelope(v any) (letter envelope, ok bool, failed *runtime.Error) {
	if !isEnvelope(v) {
		return envelope{}, false, nil
	}
	m := v.(value.Map)
	for name, to := range map[string]*string{"tenant": &letter.tenant, "script": &letter.script} {
		if isNull(m[name]) {
			continue
		}
		if *to, ok = m[name].(string); !ok {
			return envelope{}, false, runtime.Errorf(runtime.EventInvalid, "the envelope's %s is no string", name)
		}
	}
	if letter.event = m["event"]; letter.event == (value.Null{}) {
		letter.event = nil
	}
	return letter, true, nil
}

// looksLikeObject says whether a text may be a JSON object.
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

// copyFields copies the fields with these names, and leaves out what is nothing.
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
