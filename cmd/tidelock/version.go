package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/cmd/internal/build"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
				System   string `json:"system"`
			}{build.Version(), build.Revision(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tidelock %s %s %s\n", v.Version, v.Go, v.System)
			return nil
		},
	}
}
