package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

// exitFailed is the exit code of a command that did not do what it should.
const exitFailed exitCode = 1

func tableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Make or check the table of native.db on DynamoDB",
	}
	addTableFlags(cmd.PersistentFlags())
	cmd.AddCommand(tableCreateCommand(), tableCheckCommand())
	return cmd
}

func tableCreateCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make the table",
		Long: `Make the table, with the keys p and k, billed by use, whose items expire by x.

It waits until the table can be used. A table that is there already keeps its
data; only an expiry that is missing is added.`,
		Example: "  tidelock table create --db-table tidelock --db-region eu-west-1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTable(cmd, func(ctx context.Context, s *dynamo.Store, table string) error {
				if err := confirm(cmd, yes, fmt.Sprintf("Create table %q?", table)); err != nil {
					return err
				}
				return createTable(ctx, cmd, s, table)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return cmd
}

func tableCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the table, access to it, and this machine's clock",
		Long: `Check that the table is as native.db and native.lock need it, that its data can
be read, and that this machine's clock agrees with the table's. Nothing is
changed. The exit code is 1 if there is a problem.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTable(cmd, func(ctx context.Context, s *dynamo.Store, table string) error {
				return checkTable(ctx, cmd, s, table)
			})
		},
	}
}

// withTable calls do with the configured table. A signal ends its context.
func withTable(cmd *cobra.Command, do func(ctx context.Context, s *dynamo.Store, table string) error) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if c.DB.Table == "" {
		return errors.New("no table is named: set --db-table")
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	s, err := wire.OpenTable(ctx, c.DB, clock.NewDual(clock.System()), newLog(c))
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, s, c.DB.Table), s.Close())
}

// confirm asks the operator, unless yes is set. Without a terminal it fails.
func confirm(cmd *cobra.Command, yes bool, question string) error {
	if yes {
		return nil
	}
	if in, ok := cmd.InOrStdin().(*os.File); !ok || !isTerminal(in) {
		return errors.New("no terminal to confirm on: set --yes")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing was done")
		return exitFailed
	}
	return nil
}

func createTable(ctx context.Context, cmd *cobra.Command, s *dynamo.Store, name string) error {
	created, err := s.CreateTable(ctx)
	if err != nil {
		return fail(cmd, err)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"ok": true, "table": name, "created": created})
	}
	what := "was there already"
	if created {
		what = "is created"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "table %q %s and can be used\n", name, what)
	return nil
}

func checkTable(ctx context.Context, cmd *cobra.Command, s *dynamo.Store, name string) error {
	findings, err := s.CheckTable(ctx, 0)
	if err != nil {
		return fail(cmd, err)
	}
	ok := true
	for _, f := range findings {
		ok = ok && f.Level != dynamo.Problem
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		if err := printJSON(cmd.OutOrStdout(), map[string]any{"ok": ok, "table": name, "findings": findings}); err != nil {
			return err
		}
	} else {
		columns := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, f := range findings {
			fmt.Fprintf(columns, "%s\t%s\t%s\n", f.Level, f.Check, cell(f.Text))
		}
		if err := columns.Flush(); err != nil {
			return err
		}
	}
	if !ok {
		return exitFailed
	}
	return nil
}

// fail prints why a command did not do what it should, and returns its exit
// code.
func fail(cmd *cobra.Command, err error) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		if err := printJSON(cmd.OutOrStdout(), map[string]any{"ok": false, "error": map[string]any{"message": err.Error()}}); err != nil {
			return err
		}
	} else {
		printError(cmd.ErrOrStderr(), err)
	}
	return exitFailed
}

// printError prints what went wrong.
func printError(w io.Writer, err error) { fmt.Fprintln(w, "tidelock:", printable(err.Error())) }
