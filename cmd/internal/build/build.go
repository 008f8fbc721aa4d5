// Package build has the version and the commit of the program that runs.
package build

import "runtime/debug"

// version is set when a program is linked, by
// -ldflags "-X github.com/tidelock-lua/tidelock/cmd/internal/build.version=v1.2.3":
// an image is built from files without their history.
var version string

// unknown is the version of a program that was built without one.
const unknown = "unknown"

// Version returns the program's version: the one that was set by the linker, else
// that of its module, else "unknown".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return unknown
}

// Revision returns the commit that the program was built from, or "" if that is
// unknown.
func Revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
