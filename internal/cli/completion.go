package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script for a shell",
		Long: `Print the script that completes commands and flags. "make install" and the packages install
the scripts. That of bash needs the package bash-completion. To try one in a running shell:

  source <(stint completion bash)
  source <(stint completion zsh)      # after compinit
  stint completion fish | source`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.Stdout, true)
			}
			return usage(fmt.Errorf("there is no completion for %q, only for bash, zsh and fish", args[0]))
		},
	}
}
