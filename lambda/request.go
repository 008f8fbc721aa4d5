package lambda

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// request is an HTTP request in the form of an event.
type request struct {
	item
	format responseFormat // that the sender understands
}

// readRequest reads a request of a function URL, an HTTP API, a REST API or a
// load balancer.
func readRequest(m value.Map) (request, *runtime.Error) {
	context := mapOf(m, "requestContext")
	var r request
	var method, path, route string
	event := value.Map{"kind": "http", "headers": headers(m)}
	if call := mapOf(context, "http"); call != nil && textOf(m, "version") == "2.0" {
		r.format.cookies = true
		method, path, route = textOf(call, "method"), textOf(m, "rawPath"), textOf(m, "routeKey")
		event["ip"], event["cookies"] = call["sourceIp"], cookies(listOf(m, "cookies"))
		event["query"], event["query_all"] = query(textOf(m, "rawQueryString"))
	} else {
		method, path = textOf(m, "httpMethod"), textOf(m, "path")
		r.format, route = proxyFormat(m, context)
		event["ip"], event["cookies"] = mapOf(context, "identity")["sourceIp"], cookies(strings.Split(textOf(mapOf(event, "headers"), "cookie"), ";"))
		event["query"], event["query_all"] = restQuery(m, r.format.loadBalancer)
	}
	event["method"], event["path"] = method, path
	event["params"], event["request_id"], event["authorizer"] = m["pathParameters"], context["requestId"], context["authorizer"]
	r.item = item{
		sources: requestNames(route, method, path, textOf(context, "domainName")), public: true,
		fields: copyFields(nil, event), messageField: "body", encode: r.format.encode, bytesMax: r.format.bytesMax(),
	}
	body, ok := m["body"].(string)
	if !ok {
		return r, nil
	}
	// The flag decides, never the type of the content.
	if m["isBase64Encoded"] == true {
		if body, ok = decodeBase64(body); !ok {
			return r, runtime.Errorf(runtime.EventInvalid, "the body is not base64")
		}
	}
	r.message = body
	return r, nil
}

// proxyFormat returns the format and the route of a request of a REST API or a
// load balancer.
func proxyFormat(m, context value.Map) (f responseFormat, route string) {
	f.severalValues = mapOf(m, "multiValueHeaders") != nil
	if elb := mapOf(context, "elb"); elb != nil {
		f.loadBalancer = true
		return f, textOf(elb, "targetGroupArn")
	}
	return f, textOf(m, "httpMethod") + " " + textOf(m, "resource")
}

// defaultRoute is the gateway's name for the route that matches any request.
const defaultRoute = "$default"

// pathMax is how much of a path is compared with routes such as "/orders/*", in
// bytes: a path is as long as its sender likes, and may be nothing but slashes.
const pathMax = 1024

// requestNames returns the sources of a request that routes may match, most exact
// first.
func requestNames(route, method, path, domain string) (names []string) {
	if route != "" && route != defaultRoute {
		names = append(names, route)
	}
	names = append(names, method+" "+path, path)
	path = path[:min(len(path), pathMax)]
	for i := strings.LastIndexByte(path, '/'); i >= 0; i = strings.LastIndexByte(path[:i], '/') {
		names = append(names, method+" "+path[:i]+"/*", path[:i]+"/*")
	}
	if domain != "" {
		names = append(names, domain)
	}
	return append(names, defaultRoute)
}

// headers returns the request's headers with names in lower case. Several values
// of a name are joined as HTTP joins them.
func headers(m value.Map) value.Map {
	out := value.Map{}
	add := func(name, text string) {
		name = strings.ToLower(name)
		if before, ok := out[name].(string); ok {
			text = before + headerSeparator(name) + text // the name in another case
		}
		out[name] = text
	}
	several := mapOf(m, "multiValueHeaders")
	for _, name := range slices.Sorted(maps.Keys(several)) {
		list, _ := several[name].(value.List)
		if all := texts(list); len(all) > 0 && name != "" {
			add(name, strings.Join(all, headerSeparator(name)))
		}
	}
	if several != nil {
		return out // headers holds only the last value of each
	}
	single := mapOf(m, "headers")
	for _, name := range slices.Sorted(maps.Keys(single)) {
		if text, ok := single[name].(string); ok && name != "" {
			add(name, text)
		}
	}
	return out
}

func headerSeparator(header string) string {
	if strings.EqualFold(header, "cookie") {
		return "; "
	}
	return ", "
}

// cookies returns cookies by name. Of several with a name it takes the first.
func cookies(pairs []string) value.Map {
	out := value.Map{}
	for _, pair := range pairs {
		name, v, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if _, had := out[name]; ok && name != "" && !had {
			out[name] = v
		}
	}
	return out
}

// query decodes a query string. first has the first value of each name, all has
// lists of all values.
func query(text string) (first, all value.Map) {
	values, _ := url.ParseQuery(text) // what can't be decoded is left out
	return queryMaps(values)
}

// restQuery reads the query of a REST API, which is decoded, or of a load
// balancer, which is still encoded.
func restQuery(m value.Map, encoded bool) (first, all value.Map) {
	values := url.Values{}
	add := func(name string, list []string) {
		for _, text := range list {
			if !encoded {
				values.Add(name, text)
			} else if n, err := url.QueryUnescape(name); err == nil {
				if v, err := url.QueryUnescape(text); err == nil {
					values.Add(n, v)
				}
			}
		}
	}
	if several := mapOf(m, "multiValueQueryStringParameters"); several != nil {
		for name, v := range several {
			list, _ := v.(value.List)
			add(name, texts(list))
		}
		return queryMaps(values)
	}
	for name, v := range mapOf(m, "queryStringParameters") {
		if text, ok := v.(string); ok {
			add(name, []string{text})
		}
	}
	return queryMaps(values)
}

func queryMaps(values url.Values) (first, all value.Map) {
	first, all = value.Map{}, value.Map{}
	for name, list := range values {
		first[name] = list[0]
		several := value.List{}
		for _, v := range list {
			several = append(several, v)
		}
		all[name] = several
	}
	return first, all
}

func listOf(m value.Map, name string) []string {
	list, _ := m[name].(value.List)
	return texts(list)
}

// texts returns the strings in a list.
func texts(list value.List) (out []string) {
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// decodeBase64 decodes a text; ok is false if it is not base64.
func decodeBase64(text string) (decoded string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	return string(raw), err == nil
}
