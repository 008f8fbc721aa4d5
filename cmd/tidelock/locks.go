package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/spelling"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/tenant"
)

func locksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "See, watch and free the db locks of a tenant, or run a command under one",
	}
	addDBFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().String("tenant", "dev", "tenant whose locks they are")
	cmd.AddCommand(locksListCommand(), locksShowCommand(), locksWatchCommand(), locksFreeCommand(), locksExecCommand())
	return cmd
}

func locksListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the locks, those that are free soonest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLocks(cmd, func(ctx context.Context, l *locks) error {
				all, err := l.list(ctx)
				if err != nil {
					return fail(cmd, err)
				}
				return printLocks(cmd, all)
			})
		},
	}
}

func locksShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show who holds a lock; the exit code is 1 if it is not held",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLocks(cmd, func(ctx context.Context, l *locks) error {
				found, err := l.find(ctx, args[0])
				if err != nil {
					return fail(cmd, err)
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), locktable.StatusOf(*found))
				}
				describeLock(cmd.OutOrStdout(), l.tenant, *found)
				return nil
			})
		},
	}
}

func locksWatchCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "List the locks again and again, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return fmt.Errorf("--every %v: want 100ms or more", every)
			}
			return withLocks(cmd, func(ctx context.Context, l *locks) error { return l.watch(ctx, cmd, every) })
		},
	}
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "pause between two lists")
	return cmd
}

func locksFreeCommand() *cobra.Command {
	var yes bool
	var owner string
	cmd := &cobra.Command{
		Use:   "free NAME",
		Short: "Free a lock that its holder will not release any more",
		Long: `Free a lock that its holder will not release any more.

The lock is freed only if it still has the owner that was shown (or named with
--owner): one that has another owner meanwhile is left alone. If its holder still
runs, freeing gives up the exclusion: two may then run at once. A lock whose
holder has crashed frees itself when it runs out.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLocks(cmd, func(ctx context.Context, l *locks) error { return l.free(ctx, cmd, args[0], owner, yes) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	cmd.Flags().StringVar(&owner, "owner", "", "free it only if this is its owner")
	return cmd
}

// locks are the db locks of one tenant.
type locks struct {
	*wire.Program
	tenant  tenant.ID
	unknown error // says that the configuration has no such tenant; nil if it has
}

// unknownTenant returns an error if a configuration has tenants, but not this one.
func unknownTenant(c *config.Config, name string) error {
	if _, ok := c.Tenants[name]; ok || len(c.Tenants) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(c.Tenants))
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Errorf("there is no tenant %q in the configuration, did you mean %q?", name, near)
	}
	return fmt.Errorf("there is no tenant %q in the configuration, known are %s", name, strings.Join(known, ", "))
}

// withLocks calls do with the locks of the configured store. A signal ends its
// context.
func withLocks(cmd *cobra.Command, do func(context.Context, *locks) error) error {
	name, _ := cmd.Flags().GetString("tenant")
	id, err := tenant.Parse(name)
	if err != nil {
		return err
	}
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	unknown := unknownTenant(c, name)
	if unknown != nil && cmd.Flags().Changed("tenant") && cmd.Name() == "exec" {
		return unknown // it would exclude no one
	}
	program, err := newProgram(c, newLog(c), wire.Config{})
	if err != nil {
		return err
	}
	defer program.Close()
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	return do(ctx, &locks{program, id, unknown})
}

// list returns the locks; those that are free soonest come first. A tenant that has
// left the configuration may have locks. One without any is an error.
func (l *locks) list(ctx context.Context) ([]lock.LockInfo, error) {
	all, err := lock.ListAll(ctx, l.Store, l.TableTime, l.tenant)
	if err != nil {
		return nil, outcome.Detailed(err)
	}
	if len(all) == 0 && l.unknown != nil {
		return nil, l.unknown
	}
	slices.SortStableFunc(all, func(a, b lock.LockInfo) int { return cmp.Compare(a.Left, b.Left) })
	return all, nil
}

// find returns one lock.
func (l *locks) find(ctx context.Context, name string) (*lock.LockInfo, error) {
	all, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, found := range all {
		if found.Name == name {
			return &found, nil
		}
	}
	return nil, fmt.Errorf("tenant %s has no lock %q: it is not held", l.tenant, name)
}

func (l *locks) watch(ctx context.Context, cmd *cobra.Command, every time.Duration) error {
	for {
		all, err := l.list(ctx)
		if ctx.Err() != nil {
			return interruptedBy(ctx)
		}
		if err != nil {
			return fail(cmd, err)
		}
		if isTerminal(cmd.OutOrStdout()) {
			fmt.Fprint(cmd.OutOrStdout(), "\x1b[H\x1b[2J") // to the top, and clear
		}
		if err := printLocks(cmd, all); err != nil {
			return err
		}
		if l.Clock.Sleep(ctx, every) != nil {
			return interruptedBy(ctx)
		}
	}
}

func (l *locks) free(ctx context.Context, cmd *cobra.Command, name, owner string, yes bool) error {
	found, err := l.find(ctx, name)
	if err != nil {
		return fail(cmd, err)
	}
	if owner != "" && owner != found.Owner {
		return fail(cmd, fmt.Errorf("lock %q has another owner, %s; nothing was done", name, found.Owner))
	}
	if !yes {
		describeLock(cmd.ErrOrStderr(), l.tenant, *found)
		if found.Left > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "If its holder still runs, another may then run at the same time.")
		}
	}
	if err := confirm(cmd, yes, fmt.Sprintf("Free lock %q?", name)); err != nil {
		return err
	}
	answer := l.Store.DeleteLock(ctx, found.Key, found.Owner)
	switch {
	case answer.Outcome == outcome.Refused && answer.Old != nil:
		return fail(cmd, fmt.Errorf("lock %q has another owner by now, %s; nothing was done", name, answer.Old.Owner))
	case answer.Outcome == outcome.Unknown:
		return fail(cmd, fmt.Errorf("it is not known whether lock %q was freed: look again (%w)", name, answer.Err))
	case answer.Outcome == outcome.NotApplied:
		return fail(cmd, answer.Err)
	}
	how := "freed"
	if answer.Outcome == outcome.Refused {
		how = "already free"
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"ok": true, "lock": name, "owner": found.Owner, "freed": answer.Outcome == outcome.Applied})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "lock %q is %s\n", name, how)
	return nil
}
