package native

import (
	"fmt"
	"strings"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// UnknownOption says that there is no option of that name, and which one was
// probably meant.
func UnknownOption(name string, known []string) string {
	text := fmt.Sprintf("unknown option %.64q", name)
	if near := spelling.Nearest(name, known); near != "" {
		return text + fmt.Sprintf(", did you mean %q?", near)
	}
	return text + ", known are " + strings.Join(known, ", ")
}
