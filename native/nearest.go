package native

import (
	"fmt"
	"strings"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// UnknownOption is the text of the error for an option that isn't known: it names
// the one that was probably meant, or all.
func UnknownOption(name string, known []string) string {
	text := fmt.Sprintf("unknown option %.64q", name)
	if near := spelling.Nearest(name, known); near != "" {
		return text + fmt.Sprintf(", did you mean %q?", near)
	}
	return text + ", known are " + strings.Join(known, ", ")
}
