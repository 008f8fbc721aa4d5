package main

import (
	"context"
	_ "embed" // names.lua
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/check"
	"github.com/tidelock-lua/tidelock/tenant"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check SCRIPT...",
		Short: "Find mistakes in scripts without running them",
		Long: `Find mistakes in scripts without running them: what is no Lua, undefined globals,
unknown fields of native and of Lua's libraries, and what scripts don't have. The
exit code is 1 if there are any.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return checkScripts(cmd, args) },
	}
}

func checkScripts(cmd *cobra.Command, paths []string) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	names, err := scriptNames(cmd.Context(), c, newLog(c))
	if err != nil {
		return err
	}
	findings := []check.Finding{}
	var unreadable []error
	for _, path := range paths {
		source, err := readSource(cmd.InOrStdin(), path)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		findings = append(findings, check.Source(cmd.Context(), path, string(source), names)...)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		if len(unreadable) == 0 {
			err = printJSON(cmd.OutOrStdout(), map[string]any{"ok": len(findings) == 0, "findings": findings})
		}
	} else {
		for _, f := range findings {
			fmt.Fprintln(cmd.OutOrStdout(), printable(f.String()))
		}
	}
	switch {
	case len(unreadable) > 0:
		return errors.Join(unreadable...)
	case err == nil && len(findings) > 0:
		return exitFailed
	}
	return err
}

// namesScript returns all names that scripts have, as nested tables.
//
//go:embed names.lua
var namesScript string

// scriptNames runs a script that lists the names it has. So they are those of
// the runtime itself, and no list of ours can lack one.
func scriptNames(ctx context.Context, c *config.Config, log *zap.Logger) (check.Names, error) {
	program, err := newProgram(c, log, wire.Config{})
	if err != nil {
		return nil, err
	}
	defer program.Close()
	inv := runtime.Invocation{ID: runtime.NewID(time.Now()), Tenant: "dev", Script: "names.lua", Source: namesScript, Limits: tenant.Limits{}}
	inv.Log = wire.ScriptLog(log, &inv)
	result := program.Engine.Run(ctx, inv)
	if result.Error != nil {
		return nil, result.Error
	}
	var names check.Names
	return names, json.Unmarshal(result.JSON, &names)
}
