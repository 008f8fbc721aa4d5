package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/telemetry"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration",
	}
	addDBFlags(cmd.PersistentFlags())
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check",
			Short: "Check the configuration without a request to anything",
			Long: `Check the configuration without a request to anything: its keys and values, that
the folders of tenants and the scripts of routes and schedules are there, that
secrets can be read, that events can get to each route, and that no limit is over
its ceiling. The exit code is 2 if something is wrong; a deprecated key is a
warning only.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd) },
		},
		&cobra.Command{
			Use:   "show",
			Short: "Print all values with where each comes from; secrets as references",
			Args:  cobra.NoArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return showConfig(cmd) },
		},
	)
	return cmd
}

func checkConfig(cmd *cobra.Command) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	tenants, err := c.Directory()
	if err != nil {
		return err
	}
	if err := c.CheckSecrets(); err != nil {
		return err
	}
	warnings, err := c.Check(tenants)
	if err != nil {
		return err
	}
	if err := checkTask(c, tenants); err != nil {
		return err
	}
	warnings = append(slices.Clone(c.Warnings()), warnings...)
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		out := map[string]any{"ok": true}
		if len(warnings) > 0 {
			out["warnings"] = warnings
		}
		return printJSON(cmd.OutOrStdout(), out)
	}
	for _, warning := range warnings {
		fmt.Fprintln(cmd.OutOrStdout(), "warning:", printable(warning))
	}
	fmt.Fprintln(cmd.OutOrStdout(), "the configuration is good")
	return nil
}

// checkTask makes the host that tidelock task serve would make, but doesn't let
// it listen: the host checks schedules.
func checkTask(c *config.Config, tenants runtime.Directory) error {
	if len(c.Tenants) == 0 {
		return nil
	}
	log := zap.NewNop()
	program, err := newProgram(c, log, wire.Config{HostKind: "task"})
	if err != nil {
		return err
	}
	defer program.Close()
	_, err = newTask(c, program, tenants, log, telemetry.NewMetrics(), func(*task.Config) {})
	return err
}

func showConfig(cmd *cobra.Command) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		values := map[string]config.Value{}
		for _, v := range c.Values() {
			values[v.Key] = v
		}
		return printJSON(cmd.OutOrStdout(), values)
	}
	columns := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, v := range c.Values() {
		fmt.Fprintf(columns, "%s\t%s\t%s\n", cell(v.Key), cell(v.Text), cell(v.Origin))
	}
	return columns.Flush()
}
