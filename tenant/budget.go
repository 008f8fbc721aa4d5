package tenant

import "sync/atomic"

// Budget counts what a run uses up of a limit.
type Budget struct {
	// Name is the limit's name in the configuration.
	Name string
	// Limit is how much may be used.
	Limit int64
	used  atomic.Int64
}

// Spend takes n from the budget, or nothing and returns false if less than n
// is left.
func (b *Budget) Spend(n int64) bool {
	if b.used.Add(n) > b.Limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// Used is how much has been spent.
func (b *Budget) Used() int64 { return b.used.Load() }
