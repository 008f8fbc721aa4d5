package runtime

import (
	"testing"
	"time"
)

func TestNewIDSortsByTimeAndIsNeverUsedTwice(t *testing.T) {
	at := time.UnixMilli(1_767_225_600_123)
	early, same, late := NewID(at), NewID(at), NewID(at.Add(time.Millisecond))
	if len(early) != 26 || early[:10] != "01KDVDNA3V" {
		t.Errorf("got %s, want 26 letters that begin with the time", early)
	}
	if early == same || early >= late || same >= late {
		t.Errorf("got %s and %s, then %s", early, same, late)
	}
}
