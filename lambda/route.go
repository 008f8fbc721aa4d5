package lambda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Route sends the events of one source to a tenant's script. Either Tenant or
// Script may be empty if the platform or an envelope names it.
type Route struct {
	// Match is the source of an event. If several routes match, the first in this
	// order counts:
	//
	//	HTTP         "POST /orders/{id}" (a route of the gateway), "POST /orders/7",
	//	             "/orders/7", "/orders/*", a load balancer's target group (ARN),
	//	             a domain name, "$default"
	//	SQS          the queue (ARN)
	//	S3           the bucket (ARN)
	//	EventBridge  a resource of the event, which for a schedule is its rule (ARN),
	//	             "source/detail-type", "source"
	//	all          the function's ARN with the alias that was called, "*"
	Match string
	// Tenant is the tenant whose script runs.
	Tenant tenant.ID
	// Script is the script's name, as in [runtime.Directory.Resolve].
	Script string
}

// MatchMax is the largest size of a Match in bytes.
const MatchMax = pathMax

// unreachable returns why a match can't match any event, or "".
func unreachable(match string) string {
	method, path, isPath := strings.Cut(match, " ")
	if !strings.HasPrefix(path, "/") {
		method, path, isPath = "", match, strings.HasPrefix(match, "/")
	}
	before, below := strings.CutSuffix(path, "/*")
	switch {
	case match != strings.TrimSpace(match):
		return "it begins or ends with a blank, and no source of an event does"
	case match == "*":
	case strings.Contains(before, "*"), below && !isPath:
		return `names are compared as they are: a * stands for what lies below a path, such as "/orders/*", or alone for all`
	case isPath && method != strings.ToUpper(method):
		return "methods are in capitals"
	case isPath && strings.ContainsAny(path, "?#"):
		return "a path is compared without its query"
	case isMethod(method, match):
		return "a path begins with /"
	}
	return ""
}

// isMethod reports whether a match that is no path begins with a method.
func isMethod(method, match string) bool {
	first, _, ok := strings.Cut(match, " ")
	return method == "" && ok && slices.Contains([]string{"ANY", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, strings.ToUpper(first))
}

// Unreachable returns why no event can reach a route, or "". others are all other
// routes.
func (r Route) Unreachable(others []Route) string {
	if why := unreachable(r.Match); why != "" || r.Match != defaultRoute {
		return why
	}
	for _, o := range others {
		if o.Match == "/*" {
			return `every path is below "/*", which counts before $default`
		}
	}
	return ""
}

// routes are routes by their Match.
type routes map[string]Route

// newRoutes returns routes by their Match, or an error if one is invalid.
func newRoutes(all []Route, tenants runtime.Directory) (routes, error) {
	out := routes{}
	for _, r := range all {
		if _, twice := out[r.Match]; twice {
			return nil, fmt.Errorf("route %q: there are two", r.Match)
		}
		switch _, known := tenants[r.Tenant]; {
		case r.Match == "":
			return nil, fmt.Errorf("a route matches nothing")
		case len(r.Match) > MatchMax:
			return nil, fmt.Errorf("route %.80q...: it has more than %d bytes", r.Match, MatchMax)
		case r.Tenant == "" && r.Script == "":
			return nil, fmt.Errorf("route %q: it has neither tenant nor script", r.Match)
		case r.Tenant != "" && !known:
			return nil, fmt.Errorf("route %q: there is no tenant %q", r.Match, r.Tenant)
		}
		out[r.Match] = r
	}
	return out, nil
}

// find returns the route for the first name that has one, or an empty one.
func (r routes) find(names []string) Route {
	for _, name := range names {
		if route, ok := r[name]; ok {
			return route
		}
	}
	return Route{}
}

// target is the tenant and the script that an event is for.
type target struct{ tenant, script string }

// merge adds what a later source names. It may not change what is there.
func (t target) merge(tenant, script string) (target, *runtime.Error) {
	switch {
	case tenant != "" && t.tenant != "" && tenant != t.tenant:
		return t, runtime.Errorf(runtime.TenantMismatch, "the event names another tenant than the one that it belongs to")
	case script != "" && t.script != "" && strings.TrimSuffix(script, ".lua") != strings.TrimSuffix(t.script, ".lua"):
		return t, runtime.Errorf(runtime.TenantMismatch, "the event names another script than its route does")
	}
	if t.tenant == "" {
		t.tenant = tenant
	}
	if t.script == "" {
		t.script = script
	}
	return t, nil
}

// resolve returns the target of an item, and the event that its script sees.
func (h *Host) resolve(i *invocation, it item) (t target, event any, failed *runtime.Error) {
	names := append(it.sources, i.arn, "*")
	route := h.routes.find(names)
	if t, failed = (target{tenant: i.tenant}).merge(string(route.Tenant), route.Script); failed != nil {
		return t, nil, failed
	}
	message := it.message
	if !it.public {
		env, ok, failed := readEnvelope(it.message)
		if failed != nil {
			return t, nil, failed
		}
		if ok {
			if t, failed = t.merge(env.tenant, env.script); failed != nil {
				return t, nil, failed
			}
			message = env.event
		}
	}
	switch {
	case t.tenant == "":
		return t, nil, runtime.Errorf(runtime.TenantUnknown, "no tenant is named for this event: it needs a route for %s", routeHint(it))
	case t.script == "":
		return t, nil, runtime.Errorf(runtime.ScriptNotFound, "no script is named for this event: it needs a route for %s", routeHint(it))
	}
	return t, it.event(message), nil
}

// routeHint names what could have named the target.
func routeHint(it item) string {
	where := "the function"
	if len(it.sources) > 0 {
		where = it.sources[0]
	}
	if it.public {
		return where
	}
	return where + ", or an envelope {tenant, script, event}"
}
