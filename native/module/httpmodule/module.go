// Package httpmodule is native.http: the Lua face of package http.
//
//	native.http.request({ url =, method =, ... }) -> response
//	native.http.get(url, opts?) -> response         and head, options, post, put, patch, delete
//	response.status, response.headers, response.body
//	response:json() -> value
package httpmodule

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"golang.org/x/net/http/httpguts"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/native/value"
)

// New returns the module native.http, whose requests client makes.
func New(client *http.Client) native.Module {
	m := module{client}
	funcs := []native.Func{
		{Name: "request", Args: 1, Do: func(c *native.Call) error { // { url, method, ... } -> response
			return m.do(c, "request", "", "", c.Options(1, append([]string{"url", "method"}, options...)...))
		}},
	}
	for _, method := range methods { // (url, { headers, query, body | json, timeout_ms, redirects, stream }) -> response
		name := strings.ToLower(method)
		funcs = append(funcs, native.Func{Name: name, Args: 2, Do: func(c *native.Call) error {
			return m.do(c, name, method, c.String(1, "url"), c.Options(2, options...))
		}})
	}
	return native.Module{Name: "http", Funcs: funcs}
}

var (
	methods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
	options = []string{"headers", "query", "body", "json", "timeout_ms", "redirects", "stream"}
)

type module struct{ client *http.Client }

// responses is the metatable of responses, which are tables with a method; see
// docs/http.md.
var responses = native.Methods("response", native.Func{Name: "json", Do: bodyJSON, Args: native.NoArgs})

func (m module) do(c *native.Call, op, method, url string, o native.Options) error {
	a := arguments{c, o, c.NArgs()}
	if method == "" {
		a.arg = 1
		url, method = a.text("url", ""), strings.ToUpper(a.text("method", "GET"))
		if !slices.Contains(methods, method) {
			a.bad("method: got %.16q, want one of %s", method, strings.Join(methods, ", "))
		}
	}
	r, err := a.request(op, method, url)
	if err != nil {
		return err
	}
	resolved := func() {}
	if !http.IsSafe(method) {
		resolved = c.Write()
	}
	resp, err := m.client.Do(c.Context(), c.Env.Tenant, r)
	if known, ok := err.(*outcome.Error); ok && known.Applied == outcome.AppliedUnknown {
		return err
	}
	if err == nil && r.Stream && !resp.RequestSent() {
		return returnResponse(c, r, resp) // the rest of the request may be sent after the call
	}
	resolved()
	if err != nil {
		return err
	}
	return returnResponse(c, r, resp)
}

// returnResponse returns the response as a table.
func returnResponse(c *native.Call, r *http.Request, resp *http.Response) error {
	var body lua.LValue
	if r.Stream {
		body = streammodule.Open(c, resp)
	} else {
		defer resp.Close()
		text, err := resp.ReadAll(streammodule.CallerOf(c))
		if err != nil {
			return err
		}
		body = lua.LString(text)
	}
	t := c.L.CreateTable(0, 3)
	t.Metatable = responses
	t.RawSetString("status", lua.LNumber(resp.Status))
	t.RawSetString("headers", headers(c, resp.Header))
	t.RawSetString("body", body)
	return c.Return(t)
}

// headers returns a table by lower-case names. The values of one name are joined
// by commas, as HTTP allows, except for cookies, which are a list.
func headers(c *native.Call, h nethttp.Header) lua.LValue {
	t := c.L.CreateTable(0, len(h))
	for name, values := range h {
		if name == "Set-Cookie" {
			list := native.MarkList(c.L.CreateTable(len(values), 0))
			for i, v := range values {
				list.RawSetInt(i+1, lua.LString(v))
			}
			t.RawSetString("set-cookie", list)
			continue
		}
		t.RawSetString(strings.ToLower(name), lua.LString(strings.Join(values, ", ")))
	}
	return t
}

// bodyJSON is response:json() -> value.
func bodyJSON(c *native.Call) error {
	t := native.Self[*lua.LTable](c, "a response")
	text, ok := t.RawGetString("body").(lua.LString)
	if !ok {
		c.BadArg(1, "body: got %s, want string; a stream has json_lines", t.RawGetString("body").Type())
	}
	v, err := jsonmodule.Decode(c.Run, []byte(strings.TrimPrefix(string(text), "\ufeff")))
	if err != nil {
		return &outcome.Error{Code: "json_syntax", Op: "json", Message: fmt.Sprintf("%v%s", err, described(t)), Cause: err}
	}
	return c.Return(native.ToLua(c.Run, v))
}

// described returns the status and content type, for an error about a body that
// isn't JSON: the page of a proxy has others than the server.
func described(response *lua.LTable) string {
	contentType := "no content type"
	if headers, ok := response.RawGetString("headers").(*lua.LTable); ok {
		if text, ok := headers.RawGetString("content-type").(lua.LString); ok {
			contentType = http.Printable(string(text))
		}
	}
	if status, ok := response.RawGetString("status").(lua.LNumber); ok {
		return fmt.Sprintf(" (status %v, %s)", status, contentType)
	}
	return ""
}

// arguments reads the options of a request.
type arguments struct {
	*native.Call
	native.Options
	arg int // the argument that has the options
}

func (a arguments) bad(format string, args ...any) { a.BadArg(a.arg, format, args...) }

func (a arguments) text(name, byDefault string) string { return a.Options.String(name, byDefault) }

func (a arguments) request(op, method, url string) (*http.Request, error) {
	r := &http.Request{
		Op: op, Method: method, URL: a.withQuery(url), Header: a.header(),
		Timeout:   a.Options.Millis("timeout_ms", http.DefaultTimeout, time.Millisecond, http.TimeoutMax),
		Redirects: int(a.Options.Number("redirects", http.RedirectsMax, 0, http.RedirectsMax)),
		Stream:    a.Bool("stream"),
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "tidelock")
	}
	return r, a.body(r)
}

// body sets the body and its content type.
func (a arguments) body(r *http.Request) error {
	v := a.Get("json")
	switch {
	case a.Has("body") && a.Has("json"):
		a.bad("body: not together with json")
	case a.Has("body"):
		r.Body = a.text("body", "")
	case v != lua.LNil:
		tree, err := native.FromLua(a.Run, v, "json", json.DepthMax)
		var text []byte
		if err == nil {
			text, err = jsonmodule.Encode(a.Run, tree, "json", jsonMax)
		}
		if err != nil {
			return &outcome.Error{Code: "json_value", Op: r.Op, Message: err.Error(), Cause: err}
		}
		whole := stream.NewBuilder(streammodule.CallerOf(a.Call))
		whole.Append(text)
		r.Body = whole.String()
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
	}
	if (a.Has("body") || v != lua.LNil) && (r.Method == "GET" || r.Method == "HEAD") {
		a.bad("body: a %s has none", r.Method)
	}
	return nil
}

const (
	headersMax = 100
	headerMax  = 32 << 10 // bytes of all names and values
	queryMax   = 1000
	jsonMax    = 16 << 20 // bytes; as in native.json
)

// reservedNames are the headers that belong to the connection, or lead elsewhere
// than the URL does.
const reservedNames = "host connection keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade content-length expect"

// header reads the headers of the script.
func (a arguments) header() nethttp.Header {
	h, size := nethttp.Header{}, 0
	a.each("headers", headersMax, func(name, v string) {
		lower := strings.ToLower(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			a.bad("headers: %.64q is no name of a header", name)
		case slices.Contains(strings.Fields(reservedNames), lower):
			a.bad("headers: %s can't be set", lower)
		case !httpguts.ValidHeaderFieldValue(v):
			a.bad("headers: the value of %s has a control character", lower)
		}
		if size += len(name) + len(v); size > headerMax {
			a.bad("headers: more than %d bytes", headerMax)
		}
		h.Add(name, v)
	})
	return h
}

// withQuery adds the option query to the query of a URL.
func (a arguments) withQuery(text string) string {
	if !a.Has("query") {
		return text
	}
	values := url.Values{}
	a.each("query", queryMax, values.Add)
	base, _, _ := strings.Cut(text, "#") // which is never sent
	switch query := values.Encode(); {
	case query == "":
		return base
	case !strings.Contains(base, "?"):
		return base + "?" + query
	case strings.HasSuffix(base, "?") || strings.HasSuffix(base, "&"):
		return base + query
	default:
		return base + "&" + query
	}
}

// each calls do with each name and value of an option: a table by name, of
// strings, numbers and booleans, or lists of them.
func (a arguments) each(option string, max int, do func(name, v string)) {
	if !a.Has(option) {
		return
	}
	tree, err := native.FromLua(a.Run, a.Get(option), option, 2)
	if err != nil {
		a.bad("%v", err)
	}
	fields, ok := tree.(value.Map)
	if !ok {
		a.bad("%s: want a table by name", option)
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	n := 0
	for _, name := range names {
		list, isList := fields[name].(value.List)
		if empty, ok := fields[name].(value.Map); ok && len(empty) == 0 {
			list, isList = nil, true // {} is an empty list
		}
		if !isList {
			list = value.List{fields[name]}
		}
		for _, v := range list {
			if n++; n > max {
				a.bad("%s: more than %d values", option, max)
			}
			text, ok := asText(v)
			if !ok {
				a.bad("%s.%.64s: want a string, a number, a boolean, or a list of them", option, name)
			}
			do(name, text)
		}
	}
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
