package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Check reports values that are well formed but can't work: scripts that don't
// exist, routes that no event can reach, limits over their ceilings. tenants are
// those of [Config.Directory]. err lists all mistakes, one per line; warnings are
// about values that may be intended.
func (c *Config) Check(tenants runtime.Directory) (warnings []string, err error) {
	k := checker{validator{origins: c.origins}, c, tenants}
	k.routes()
	k.schedules()
	k.ceilings()
	return k.warnings(), errors.Join(k.errs...)
}

// checker is a validator that knows the tenants' scripts.
type checker struct {
	validator
	*Config
	tenants runtime.Directory
}

func (k *checker) routes() {
	var all []lambda.Route
	for _, r := range k.Lambda.Routes {
		all = append(all, lambda.Route{Match: r.Match, Tenant: tenant.ID(r.Tenant), Script: r.Script})
	}
	for i, r := range all {
		path := fmt.Sprintf("lambda.routes.%d", i)
		if why := r.Unreachable(all); why != "" {
			k.fail(path+".match", "%q matches nothing: %s", r.Match, why)
		}
		k.script(path+".script", string(r.Tenant), r.Script)
	}
	for i, arn := range k.Lambda.BatchResponses {
		if !queueARN.MatchString(arn) {
			k.fail(fmt.Sprintf("lambda.batch_responses.%d", i), "got %q, want the ARN of a queue, such as arn:aws:sqs:eu-west-1:123456789012:orders", arn)
		}
	}
}

var queueARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?$`)

func (k *checker) schedules() {
	for _, name := range slices.Sorted(maps.Keys(k.Task.Schedules)) {
		s := k.Task.Schedules[name]
		if s.Tenant != "" {
			k.script("task.schedules."+name+".script", s.Tenant, s.Script)
		}
	}
}

// script checks that a tenant has a script, or that any tenant has it if id is
// empty. An empty name is no script.
func (k *checker) script(path, id, script string) {
	if script == "" {
		return
	}
	ids := []string{id}
	if id == "" {
		ids = nil
		for known := range k.tenants {
			ids = append(ids, string(known))
		}
	}
	for _, id := range ids {
		if _, failed := k.tenants.Resolve(id, script, nil); failed == nil {
			return
		}
	}
	if id == "" {
		k.fail(path, "no tenant has a script %q", script)
		return
	}
	k.fail(path, "tenant %s has no script %q", id, script)
}

// leaseMax is the longest lease that makes sense: as long as the longest deadline
// of native.deadline.
const leaseMax = 24 * time.Hour

// ceilings checks limits that can't be reached, because another limit or the
// platform's is lower.
func (k *checker) ceilings() {
	if lease := k.Lock.MaxLease.Value(); lease > leaseMax {
		k.fail("lock.max_lease", "got %v, want %v at most, which is the longest deadline", lease, leaseMax)
	}
	t := k.Task
	k.atMost("task.tenant_max_concurrency", t.TenantMaxConcurrency, "task.max_concurrency", t.MaxConcurrency)
	k.atMost("task.script_max_concurrency", t.ScriptMaxConcurrency, "task.tenant_max_concurrency", t.TenantMaxConcurrency)
	for _, id := range slices.Sorted(maps.Keys(k.Tenants)) {
		own, at := k.Tenants[id], "tenants."+id+"."
		k.atMost(at+"max_concurrency", own.MaxConcurrency, "task.max_concurrency", t.MaxConcurrency)
		ceiling, name := t.TenantMaxConcurrency, "task.tenant_max_concurrency"
		if own.MaxConcurrency != 0 {
			ceiling, name = own.MaxConcurrency, at+"max_concurrency"
		}
		k.atMost(at+"script_max_concurrency", own.ScriptMaxConcurrency, name, ceiling)
	}
}

// atMost checks that a count that is set isn't over another one.
func (k *checker) atMost(path string, got Count, ceiling string, most Count) {
	if k.set(path) && got > most {
		k.fail(path, "got %d, want %s (%d) at most", got, ceiling, most)
	}
}

// set reports whether a key is set, and not left at its default.
func (k *checker) set(path string) bool {
	return k.validator.origins[path] != "" && k.validator.origins[path] != placeDefault
}

// warnings are limits that are over others, which may be intended.
func (k *checker) warnings() (all []string) {
	warn := func(path, format string, args ...any) {
		all = append(all, placePrefix(k.validator.origins, path)+path+": "+fmt.Sprintf(format, args...))
	}
	longest := k.Limits.Timeout.Value()
	for _, t := range k.Tenants {
		longest = max(longest, t.Limits.Timeout.Value())
	}
	if lease := k.Lock.MaxLease.Value(); k.set("lock.max_lease") && lease > longest {
		warn("lock.max_lease", "%v is more than any run may take (limits.timeout: %v), so no lease lasts that long", lease, longest)
	}
	if len(k.Lambda.Routes) == 0 {
		return all
	}
	for path, size := range k.resultBytes() {
		if size > lambda.ResponseBytesMax {
			warn(path, "AWS Lambda takes %d bytes at most", lambda.ResponseBytesMax)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}

// resultBytes are all values of result_bytes by their paths.
func (k *checker) resultBytes() map[string]Size {
	all := map[string]Size{"limits.result_bytes": k.Limits.ResultBytes}
	for id, t := range k.Tenants {
		all["tenants."+id+".limits.result_bytes"] = t.Limits.ResultBytes
	}
	return all
}
