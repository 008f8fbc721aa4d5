// Command tidelock runs Lua scripts of tenants under enforced limits and
// locks, from an operator's shell.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/runtime"
)

func main() {
	ignoreBrokenPipe()
	os.Exit(run(os.Args[1:], &stdout{file: os.Stdout}))
}

// run runs one command and returns the exit code of the process. A command whose
// output could not be written has failed, whatever it returns.
func run(args []string, out *stdout) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	err := root.Execute()
	var exit exitCode
	switch {
	case errors.As(err, &exit) && exit != 0:
		return int(exit)
	case isBrokenPipe(out.failed):
		return int(exitBrokenPipe)
	case out.failed != nil:
		printError(root.ErrOrStderr(), out.failed)
		return runtime.HostInternal.ExitCode()
	case err == nil, errors.As(err, &exit): // exit code 0
		return 0
	case wantsJSON(args):
		_ = printJSON(out, map[string]any{"ok": false, "error": runtime.Errorf(runtime.HostConfigInvalid, "%v", err)})
	}
	if !wantsJSON(args) || out.failed != nil {
		printError(root.ErrOrStderr(), err)
	}
	return exitUsage
}

// wantsJSON reports whether --json is in a command line that may not parse.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "tidelock",
		Short:         "Runs tenants' Lua scripts under locks whose leases are enforced",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().Bool("json", false, "print machine-readable JSON, one object a line")
	root.PersistentFlags().String("config", "", "configuration file (default "+config.DefaultFile+" if it is there, environment "+config.EnvFile+")")
	root.AddCommand(runCommand(), checkCommand(), replCommand(), locksCommand(), tableCommand(), configCommand(), healthcheckCommand(), taskCommand(), versionCommand())
	return root
}

// exitUsage is the exit code of a command that was called wrongly.
const exitUsage = 2

// exitCode ends a command that has already said what went wrong.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
