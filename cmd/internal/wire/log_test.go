package wire

import (
	"bytes"
	stdlog "log"
	"os"
	"strings"
	"testing"
)

func TestStandardLogHasNoDataOfTenants(t *testing.T) {
	defer stdlog.SetOutput(os.Stderr)
	defer stdlog.SetFlags(stdlog.Flags())
	var out bytes.Buffer
	RedirectStandardLog(NewLog(&out, false))
	stdlog.Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", "HTTP/1.1 200 OK\r\nSet-Cookie: s=secret", nil)
	stdlog.Print("http: something else")
	text := out.String()
	if strings.Contains(text, "secret") || strings.Count(text, "\n") != 2 || !strings.Contains(text, `"message":"http: something else"`) {
		t.Errorf("got %s", text)
	}
}
