package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func healthcheckCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a task of this machine whether it is well, for containers without a shell",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{Proxy: nil}}
			response, err := client.Get("http://" + c.Task.InternalListen + path)
			if err != nil {
				return fail(cmd, err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fail(cmd, fmt.Errorf("%s answers %s", path, response.Status))
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"ok": true})
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&path, "path", "/healthz", "what to ask for: /healthz, or /readyz")
	cmd.Flags().String("internal-listen", "", "address of the task's health checks (default 127.0.0.1:9090)")
	return cmd
}
