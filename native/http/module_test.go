package http_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

func TestScripts(t *testing.T)       { nativetest.Scripts(t, modules) }
func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../docs/http.md", modules) }
