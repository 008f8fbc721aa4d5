// Command tidelock runs Lua scripts of tenants under enforced limits and
// locks, from an operator's shell.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
)

func main() { os.Exit(run(os.Args[1:])) }

// run runs one command and returns the exit code of the process.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	var exit exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(os.Stderr, "tidelock:", err)
	return exitUsage
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
