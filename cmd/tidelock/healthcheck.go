package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
			if err := checkHealth(cmd.Context(), "http://"+c.Task.InternalListen+path); err != nil {
				return fail(cmd, fmt.Errorf("%s: %w", path, err))
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

const (
	healthTime      = 3 * time.Second
	healthAnswerMax = 64 << 10 // bytes
)

// checkHealth returns nil if the answer at a URL is a task's, and the task is
// healthy. A page of another program is an error, whatever its status.
func checkHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // never through a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, healthAnswerMax))
	var answer struct {
		OK *bool `json:"ok"`
	}
	isAnswer := err == nil && json.Unmarshal(text, &answer) == nil && answer.OK != nil
	switch {
	case response.StatusCode == http.StatusOK && isAnswer && *answer.OK:
		return nil
	case err != nil:
		return fmt.Errorf("the answer: %w", err)
	case !isAnswer:
		return fmt.Errorf("what answers %s is no task: want JSON with ok", response.Status)
	}
	return fmt.Errorf("the task answers %s: %s", response.Status, bytes.TrimSpace(text))
}
