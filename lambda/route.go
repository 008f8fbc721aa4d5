package lambda

import (
	"fmt"
	"strings"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Route gives the events of one source to a tenant's script. Tenant or Script
// may be empty, not both: then the platform or the sender says it.
type Route struct {
	// Match is where an event comes from. Of several that fit, the first in
	// this order counts:
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
	// Tenant is whose script runs.
	Tenant tenant.ID
	// Script is its name, as in [runtime.Directory.Resolve].
	Script string
}

// routes are routes by what they match.
type routes map[string]Route

// newRoutes checks routes.
func newRoutes(all []Route, tenants runtime.Directory) (routes, error) {
	out := routes{}
	for _, r := range all {
		if _, twice := out[r.Match]; twice {
			return nil, fmt.Errorf("route %q: there are two", r.Match)
		}
		switch _, known := tenants[r.Tenant]; {
		case r.Match == "":
			return nil, fmt.Errorf("a route matches nothing")
		case len(r.Match) > pathMax:
			return nil, fmt.Errorf("route %.80q...: it has more than %d bytes", r.Match, pathMax)
		case r.Tenant == "" && r.Script == "":
			return nil, fmt.Errorf("route %q: it has neither tenant nor script", r.Match)
		case r.Tenant != "" && !known:
			return nil, fmt.Errorf("route %q: there is no tenant %q", r.Match, r.Tenant)
		}
		out[r.Match] = r
	}
	return out, nil
}

// find returns the first route that one of the names has; none is empty.
func (r routes) find(names []string) Route {
	for _, name := range names {
		if route, ok := r[name]; ok {
			return route
		}
	}
	return Route{}
}

// target is whose script is to run.
type target struct{ tenant, script string }

// merge adds what another says to an address; it may not change it.
func (a target) merge(tenant, script string) (target, *runtime.Error) {
	switch {
	case tenant != "" && a.tenant != "" && tenant != a.tenant:
		return a, runtime.Errorf(runtime.TenantMismatch, "the event names another tenant than the one that it belongs to")
	case script != "" && a.script != "" && strings.TrimSuffix(script, ".lua") != strings.TrimSuffix(a.script, ".lua"):
		return a, runtime.Errorf(runtime.TenantMismatch, "the event names another script than its route does")
	}
	if a.tenant == "" {
		a.tenant = tenant
	}
	if a.script == "" {
		a.script = script
	}
	return a, nil
}

// resolve finds out whose script a piece is for, and its event.
func (h *Host) resolve(i *invocation, p item) (a target, event any, failed *runtime.Error) {
	names := append(p.sources, i.arn, "*")
	route := h.routes.find(names)
	if a, failed = (target{tenant: i.tenant}).merge(string(route.Tenant), route.Script); failed != nil {
		return a, nil, failed
	}
	message := p.message
	if !p.public {
		letter, ok, failed := readEnvelope(p.message)
		if failed != nil {
			return a, nil, failed
		}
		if ok {
			if a, failed = a.merge(letter.tenant, letter.script); failed != nil {
				return a, nil, failed
			}
			message = letter.event
		}
	}
	switch {
	case a.tenant == "":
		return a, nil, runtime.Errorf(runtime.TenantUnknown, "nobody says whose event it is: it needs a route for %s", routeHint(p))
	case a.script == "":
		return a, nil, runtime.Errorf(runtime.ScriptNotFound, "nobody says which script is to run: it needs a route for %s", routeHint(p))
	}
	return a, p.event(message), nil
}

// routeHint names what would have told more.
func routeHint(p item) string {
	where := "the function"
	if len(p.sources) > 0 {
		where = p.sources[0]
	}
	if p.public {
		return where
	}
	return where + ", or an envelope {tenant, script, event}"
}
