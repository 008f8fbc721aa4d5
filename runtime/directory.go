package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"

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
// [ScriptNotFound], [EventInvalid] and [EventTooLarge], or [HostInternal] with
// its cause if the script is there and can't be read.
func (d Directory) Resolve(id, script string, event []byte) (*Invocation, *Error) {
	t, ok := d[tenant.ID(id)]
	if !ok {
		return nil, Errorf(TenantUnknown, "there is no tenant %s", quoted(id))
	}
	name, source, failed := t.script(script)
	if failed != nil {
		return nil, failed
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
func (t Tenant) script(wanted string) (file, source string, failed *Error) {
	name := wanted
	if path.Ext(name) != ".lua" {
		name += ".lua"
	}
	notFound := Errorf(ScriptNotFound, "tenant %s has no script %s", t.ID, quoted(wanted))
	if len(t.Scripts) == 0 || len(name) > nameBytesMax || !fs.ValidPath(name) {
		return "", "", notFound
	}
	f, err := t.Scripts[0].Open(name)
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, sourceBytesMax+1))
	}
	switch {
	case err == nil:
		return name, string(text), nil
	case leadsOut(err) || errors.Is(err, errNoFile): // no other attempt will succeed, but an operator should know
		notFound.Cause = err
		return "", "", notFound
	case isMissing(err):
		return "", "", notFound
	}
	return "", "", unreadable(fmt.Sprintf("script %s of tenant %s", quoted(name), t.ID), err)
}

// unreadable is the error of a script or module that is there, or may be, and
// can't be read now.
func unreadable(what string, cause error) *Error {
	return &Error{Type: HostInternal, Message: what + " can't be read", Retryable: true, Cause: cause}
}

// isMissing reports whether an error means that there is no such file, and not
// only that it can't be opened: a file can't be what has such a name.
func isMissing(err error) bool {
	for _, missing := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

// leadsOut reports whether a name leads out of its folder by a link, which
// [os.Root] refuses with an error that has no name.
func leadsOut(err error) bool {
	return strings.HasSuffix(err.Error(), "path escapes from parent")
}

// SourceError returns the error for a script that an operator has named by its
// path and that can't be read. Its message has the cause.
func SourceError(err error) *Error {
	if isMissing(err) {
		return Errorf(ScriptNotFound, "%v", err)
	}
	return &Error{Type: HostInternal, Message: err.Error(), Retryable: true}
}

// quoted returns an unknown name as errors show it: quoted, and cut off.
func quoted(name string) string {
	if len(name) > nameBytesMax {
		name = name[:nameBytesMax] + "..."
	}
	return strconv.QuoteToGraphic(name)
}
