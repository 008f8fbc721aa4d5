package runtime

import (
	"io"
	"io/fs"
	"path"
	"strconv"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Tenant is the configuration of a tenant.
type Tenant struct {
	ID tenant.ID
	// Scripts are the folders of its scripts and of what they require: its own
	// first, then those that it shares with others.
	Scripts []fs.FS
	// Limits bound its runs; zero fields stand for their defaults.
	Limits tenant.Limits
}

// Directory holds the tenants of a host. It must not change while runs start.
type Directory map[tenant.ID]Tenant

const (
	sourceBytesMax = 1 << 20 // of a file that is read; the compiler has its own limit
	nameBytesMax   = 255     // of a script's path
)

// Resolve returns the invocation of a tenant's script with an event in JSON. The
// script's name is its path below the tenant's folder, with or without .lua. ID
// and Log are left to the host. The error is one of [TenantUnknown],
// [ScriptNotFound], [EventInvalid] and [EventTooLarge].
func (d Directory) Resolve(id, script string, event []byte) (*Invocation, *Error) {
	t, ok := d[tenant.ID(id)]
	if !ok {
		return nil, Errorf(TenantUnknown, "there is no tenant %s", quoted(id))
	}
	name, source, ok := t.script(script)
	if !ok {
		return nil, Errorf(ScriptNotFound, "tenant %s has no script %s", t.ID, quoted(script))
	}
	value, err := ParseEvent(event)
	if err != nil {
		return nil, err
	}
	return &Invocation{
		Tenant: t.ID, Script: name, Source: source, Event: value,
		Limits: t.Limits, Scripts: t.Scripts,
	}, nil
}

// script reads one of the tenant's own scripts.
func (t Tenant) script(name string) (file, source string, ok bool) {
	if path.Ext(name) != ".lua" {
		name += ".lua"
	}
	if len(t.Scripts) == 0 || len(name) > nameBytesMax || !fs.ValidPath(name) {
		return "", "", false
	}
	f, err := t.Scripts[0].Open(name)
	if err != nil {
		return "", "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sourceBytesMax+1))
	return name, string(text), err == nil
}

// quoted returns an unknown name as errors show it: quoted, and cut off.
func quoted(name string) string {
	if len(name) > nameBytesMax {
		name = name[:nameBytesMax] + "..."
	}
	return strconv.QuoteToGraphic(name)
}
