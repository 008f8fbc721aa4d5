package lambda

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// responseFormat is the format of HTTP responses that a sender understands.
type responseFormat struct {
	cookies       bool // has a field for cookies: function URLs and HTTP APIs
	loadBalancer  bool
	severalValues bool // has lists of values for headers
}

// httpResponse is an HTTP response.
type httpResponse struct {
	status  int
	headers map[string][]string // names in lower case
	cookies []string
	body    string
}

// bytesMax returns the size of the largest response that the sender accepts.
func (f responseFormat) bytesMax() int64 {
	if f.loadBalancer {
		return LoadBalancerBytesMax
	}
	return ResponseBytesMax
}

// encode encodes the HTTP response that a script returned: nothing, or a table
// with status, headers, cookies and body.
func (f responseFormat) encode(v any, max int64) ([]byte, *runtime.Error) {
	r, err := readResponse(v, max)
	if err == nil && len(r.cookies) > 1 && !f.cookies && !f.severalValues {
		err = fieldError("cookies", "got %d, and the load balancer takes only one unless its multi-value headers are on", len(r.cookies))
	}
	_, tooLong := errors.AsType[*json.TooLongError](err)
	switch {
	case tooLong:
		return nil, f.tooLarge(max)
	case err != nil:
		return nil, runtime.Errorf(runtime.NotSerializable, "%s", err.Error())
	}
	text := f.render(r)
	if int64(len(text)) > max {
		return nil, f.tooLarge(max)
	}
	return text, nil
}

func (f responseFormat) tooLarge(max int64) *runtime.Error {
	whose := "are allowed"
	if f.loadBalancer && max == LoadBalancerBytesMax {
		whose = "a load balancer takes"
	}
	return runtime.Errorf(runtime.ResultTooLarge, "the answer has more bytes, as JSON with its headers, than the %d that %s", max, whose)
}

// failure returns the response to a request whose run failed. It doesn't tell the
// client where in the script.
func (f responseFormat) failure(e *runtime.Error, requestID string) []byte {
	body := value.Map{"type": string(e.Type), "message": truncate(e.Message, messageMax), "retryable": e.Retryable}
	if e.Code != "" {
		body["code"] = strings.ToValidUTF8(truncate(e.Code, codeMax), "\uFFFD")
	}
	text, err := json.Encode(value.Map{"error": body, "request_id": requestID}, "error", ResponseBytesMax)
	if err != nil {
		text = []byte(`{}`) // not reached: its texts are short, and UTF-8
	}
	status := e.Type.HTTPStatus()
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return f.render(httpResponse{status: status, headers: map[string][]string{"content-type": {typeJSON}}, body: string(text)})
}

// readResponse checks the table that a script returned. Its errors name the field.
func readResponse(v any, max int64) (r httpResponse, err error) {
	if v == nil {
		return httpResponse{status: http.StatusNoContent}, nil
	}
	m, ok := v.(value.Map)
	if !ok {
		return r, fieldError("", "want nothing or a table with status, headers, cookies and body")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"status", "headers", "cookies", "body"}, name) {
			return r, fieldError(name, "an answer has no such field, only status, headers, cookies and body")
		}
	}
	if r.status, err = readStatus(m["status"]); err != nil {
		return r, err
	}
	if r.headers, err = readHeaders(m["headers"]); err != nil {
		return r, err
	}
	if r.cookies, err = readCookies(m["cookies"]); err != nil {
		return r, err
	}
	return r, r.setBody(m["body"], max)
}

func readStatus(v any) (int, error) {
	if isNull(v) {
		return http.StatusOK, nil
	}
	f, ok := v.(float64)
	if !ok || f != float64(int(f)) || f < 200 || f > 599 {
		return 0, fieldError("status", "want a whole number from 200 to 599")
	}
	return int(f), nil
}

func readHeaders(v any) (map[string][]string, error) {
	out := map[string][]string{}
	if isNull(v) {
		return out, nil
	}
	m, ok := v.(value.Map)
	if !ok {
		return nil, fieldError("headers", "want a table of names and values")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key, at := strings.ToLower(name), "headers."+name
		switch _, twice := out[key]; {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fieldError(at, "no name of a header")
		case key == "set-cookie":
			return nil, fieldError(at, "want it in cookies")
		case twice:
			return nil, fieldError(at, "a second time, in another case")
		}
		values, ok := m[name].(value.List)
		if !ok {
			values = value.List{m[name]}
		}
		for _, v := range values {
			text, ok := headerValue(v)
			if !ok {
				return nil, fieldError(at, "want a string without control characters, a number, or a list of them")
			}
			out[key] = append(out[key], text)
		}
	}
	return out, nil
}

func headerValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, utf8.ValidString(v) && httpguts.ValidHeaderFieldValue(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func readCookies(v any) (out []string, err error) {
	if isNull(v) {
		return nil, nil
	}
	list, ok := v.(value.List)
	if m, isMap := v.(value.Map); isMap && len(m) == 0 {
		ok = true // an empty table is a map unless it is marked
	}
	if !ok {
		return nil, fieldError("cookies", `want a list of strings such as "name=value; Path=/"`)
	}
	for i, v := range list {
		text, ok := v.(string)
		if name, _, pair := strings.Cut(text, "="); !ok || !pair || !httpguts.ValidHeaderFieldName(name) ||
			!utf8.ValidString(text) || !httpguts.ValidHeaderFieldValue(text) {
			return nil, fieldError(fmt.Sprintf("cookies[%d]", i+1), `want a string such as "name=value; Path=/"`)
		}
		out = append(out, text)
	}
	return out, nil
}

const (
	typeJSON  = "application/json"
	typeText  = "text/plain; charset=utf-8"
	typeBytes = "application/octet-stream"
)

// setBody sets the body to a string, or to a table as JSON, and sets its content
// type if the script hasn't.
func (r *httpResponse) setBody(v any, max int64) error {
	kind := typeText
	switch v := v.(type) {
	case nil, value.Null:
		return nil
	case string:
		r.body = v
		if !utf8.ValidString(v) {
			kind = typeBytes
		}
	case value.Map, value.List:
		text, err := json.Encode(v, "result.body", int(max))
		if err != nil {
			return err
		}
		r.body, kind = string(text), typeJSON
	default:
		return fieldError("body", "want a string, or a table to be sent as JSON")
	}
	if r.headers["content-type"] == nil {
		r.headers["content-type"] = []string{kind}
	}
	return nil
}

// fieldError returns an error about a field of the result; "" is the result
// itself.
func fieldError(field, format string, args ...any) error {
	if field != "" {
		field = "." + field
	}
	return &value.Error{Path: "result" + field, Reason: fmt.Sprintf(format, args...)}
}

func isNull(v any) bool { return v == nil || v == value.Null{} }

// render returns a response in the sender's format.
func (f responseFormat) render(r httpResponse) []byte {
	out := struct {
		Status      int                 `json:"statusCode"`
		Description string              `json:"statusDescription,omitempty"`
		Headers     map[string]string   `json:"headers,omitempty"`
		All         map[string][]string `json:"multiValueHeaders,omitempty"`
		Cookies     []string            `json:"cookies,omitempty"`
		Body        string              `json:"body"`
		Base64      bool                `json:"isBase64Encoded"`
	}{Status: r.status, Body: r.body, Base64: !utf8.ValidString(r.body)}
	if out.Base64 {
		out.Body = base64.StdEncoding.EncodeToString([]byte(r.body))
	}
	if f.loadBalancer {
		out.Description = strings.TrimSpace(strconv.Itoa(r.status) + " " + http.StatusText(r.status))
	}
	headers := maps.Clone(r.headers)
	if f.cookies {
		out.Cookies = r.cookies
	} else if len(r.cookies) > 0 {
		if headers == nil {
			headers = map[string][]string{}
		}
		headers["set-cookie"] = r.cookies
	}
	if f.severalValues {
		out.All = headers
	} else {
		out.Headers = make(map[string]string, len(headers))
		for name, values := range headers {
			out.Headers[name] = strings.Join(values, ", ")
		}
	}
	var text bytes.Buffer
	encoder := stdjson.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // a page would be several times its size
	if err := encoder.Encode(out); err != nil {
		panic(err) // strings and numbers always encode
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
