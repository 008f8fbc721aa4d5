package spelling

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"scope", "lease_ms", "wait_ms", "rev", "new"}
	for _, test := range []struct{ name, want string }{
		{"lease", "lease_ms"}, {"leasems", "lease_ms"}, {"waitms", "wait_ms"}, {"wait", "wait_ms"}, {"scpoe", "scope"},
		{"Scope", "scope"}, {"ref", "rev"}, {"timeout", ""}, {"", ""}, {"x", ""}, {"completely_different_option", ""},
	} {
		if got := Nearest(test.name, known); got != test.want {
			t.Errorf("%q: got %q, want %q", test.name, got, test.want)
		}
	}
}
