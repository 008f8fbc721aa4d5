package task

import (
	"cmp"
	"fmt"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Limits say how many scripts run at once and how many invocations wait. The
// zero value of each field stands for its default.
type Limits struct {
	// Concurrency is how many scripts run at once in this process. The default is 256.
	Concurrency int
	// TenantConcurrency is how many of them may be one tenant's. The default is a
	// quarter of Concurrency, so that no tenant has all slots.
	TenantConcurrency int
	// ScriptConcurrency is how many may be of one script of a tenant. The default is
	// TenantConcurrency.
	ScriptConcurrency int
	// QueueLength is how many invocations of a tenant may wait. The default is 1000.
	QueueLength int
	// QueueBytes is how many bytes the events of a tenant that wait may have
	// together. The default is 32 MiB.
	QueueBytes int64
	// Tenants are the tenants that have limits of their own.
	Tenants map[tenant.ID]TenantLimits
}

// TenantLimits are the limits of one tenant. The zero value of a field stands for
// the limit that all tenants have.
type TenantLimits struct {
	// Concurrency, ScriptConcurrency and QueueLength replace TenantConcurrency,
	// ScriptConcurrency and QueueLength of [Limits]. If ScriptConcurrency is not
	// set, it is Concurrency at most.
	Concurrency, ScriptConcurrency, QueueLength int
}

func (l Limits) withDefaults() (Limits, error) {
	if l.Concurrency < 0 || l.TenantConcurrency < 0 || l.ScriptConcurrency < 0 || l.QueueLength < 0 || l.QueueBytes < 0 {
		return l, fmt.Errorf("limits %+v: want no number below 0", l)
	}
	l.Concurrency = cmp.Or(l.Concurrency, 256)
	l.TenantConcurrency = cmp.Or(l.TenantConcurrency, max(l.Concurrency/4, 1))
	l.ScriptConcurrency = cmp.Or(l.ScriptConcurrency, l.TenantConcurrency)
	l.QueueLength = cmp.Or(l.QueueLength, 1000)
	l.QueueBytes = cmp.Or(l.QueueBytes, 32<<20)
	for id, own := range l.Tenants {
		if own.Concurrency < 0 || own.ScriptConcurrency < 0 || own.QueueLength < 0 {
			return l, fmt.Errorf("limits of tenant %s %+v: want no number below 0", id, own)
		}
	}
	return l, nil
}

// of returns the limits that apply to a tenant.
func (l Limits) of(id tenant.ID) TenantLimits {
	own := l.Tenants[id]
	own.Concurrency = cmp.Or(own.Concurrency, l.TenantConcurrency)
	own.ScriptConcurrency = cmp.Or(own.ScriptConcurrency, min(l.ScriptConcurrency, own.Concurrency))
	own.QueueLength = cmp.Or(own.QueueLength, l.QueueLength)
	return own
}
