package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check and show the configuration, and the keys it may have"}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check",
			Short: "Check the configuration",
			Long: `Check the configuration. Each mistake is an error with file, line and column: status 2. An odd
value is a warning, and so is an agent that could not start in a unit of the service manager. A
held file is checked as it is, with a warning that it is not in force yet.`,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.configCheck(cmd.Context()) },
		},
		newConfigShow(a),
		&cobra.Command{
			Use:   "schema",
			Short: "Print the JSON Schema of stint.toml, for editors",
			Long: `Print the JSON Schema (draft 7) of stint.toml. Editors that know TOML (taplo, Even Better TOML
and others) complete and check the file by it. "stint init" writes it into the state folder as
` + config.SchemaFile + `, and names it in the first line of a new stint.toml; in another, write

  #:schema file:///STATE/` + config.SchemaFile + `

A schema knows nothing of what one key says of another: "stint config check" does.`,
			RunE: func(*cobra.Command, []string) error {
				printJSON(a.Stdout, configSchema())
				return nil
			},
		},
		newConfigTrust(a),
	)
	return cmd
}

func newConfigShow(a *app) *cobra.Command {
	var defaults bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every value in force and where it comes from",
		Long: `Show every value in force, with its origin before it. The values of variables whose
names suggest a secret (…_KEY, …_TOKEN, …_SECRET, …_PASSWORD and the like) are
masked: here, in "stint run --dry-run", and wherever else stint shows a text that holds them.`,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.loadConfig()
			switch {
			case err != nil:
				return err
			case defaults && a.json:
				return usage(errors.New("--defaults prints TOML, and not with --json"))
			case defaults:
				for _, name := range c.AgentNames() {
					fmt.Fprintln(a.Stdout, preset.Table(c.Agents[name].Preset))
				}
				fmt.Fprintln(a.Stdout, strings.ReplaceAll(strings.TrimSpace(preset.Errors), "\n", "\n# "))
			case a.asObject(configObject().JSON(c)):
			default:
				a.print(screen.Settings(plain.Each(c.Values(), func(v config.Value) screen.Setting {
					return screen.Setting{Origin: v.Origin, Default: v.Origin == "default", Text: v.Key + " = " + v.Value}
				}), a.style()))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&defaults, "defaults", false, "print the tables of the agents' presets, to copy into stint.toml and change")
	return cmd
}

// help answers a command that only has others below it.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

func (a *app) configCheck(ctx context.Context) error {
	path, err := a.configPathInUse()
	if err != nil {
		return err
	}
	c, err := config.Load(path, a.configOptions()) // as it stands there, also where that is held
	if err != nil {
		return err
	}
	a.secrets.hide(a.Getenv, c)
	var faults []error
	for _, name := range c.CategoryNames() {
		if err := engine.CheckPrompt(c.Categories[name].Prompt); err != nil {
			faults = append(faults, c.PromptFault(name, err))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	warnings := c.Warnings()
	for _, w := range warnings {
		a.warn(w.Pos + ": " + w.Text)
	}
	d := a.doctor(c)
	d.Environment = doctor.Environment(ctx)
	idle, _ := d.Idle()
	others := append(idle, a.missingPlaces(ctx, c)...)
	if err := fleet.CheckUnitWord(c.Path); err != nil {
		others = append(others, err.Error())
	}
	if inForce, err := a.trustedConfig(path); err == nil && inForce.Trust.Held != "" {
		others = append(others, c.Path+" has changed and is not in force yet: stint config trust")
	}
	for _, text := range others {
		warnings = append(warnings, config.Problem{Pos: c.Path, Text: text})
		a.warn(text)
	}
	a.sayLine(checkObject(warnings).JSON(c), fmt.Sprintf("%s: fleet %s: ok", c.Path, c.Fleet))
	return nil
}

// missingRepository is an error where there is no repository for what is configured. A disk that is not mounted looks like one on
// which nothing waits.
func (a *app) missingRepository(ctx context.Context, c *config.Config) error {
	needs := func(category config.Category) bool { return category.OwnClone || category.Sync }
	if c.Review.Target == "" && !slices.ContainsFunc(slices.Collect(maps.Values(c.Categories)), needs) {
		return nil
	}
	err := a.places(c).Repository(ctx)
	if err != nil && fleet.Hint(err) == "" {
		err = fleet.WithHint(err,
			fmt.Sprintf(`mount it, or git init %s, or write workspace = "shared" and no review.target`, fleet.ShellWord(c.Workspace)))
	}
	return err
}

// missingPlaces says which folder and branch of the configuration are not there, and what to do.
func (a *app) missingPlaces(ctx context.Context, c *config.Config) (list []string) {
	if err := a.missingRepository(ctx, c); err != nil {
		return []string{fmt.Sprintf("%v: %s", err, fleet.Hint(err))}
	}
	return a.missingFolders(ctx, c)
}

// missingFolders is [app.missingPlaces] in a repository that is there.
func (a *app) missingFolders(ctx context.Context, c *config.Config) (list []string) {
	if _, err := os.Stat(c.Tasks.Dir); len(c.Tasks.Sources) == 0 && c.WantsTasks() && errors.Is(err, fs.ErrNotExist) {
		list = append(list, fmt.Sprintf("tasks.dir: %s is missing, so no session has a task: mkdir -p %s", c.Tasks.Dir, fleet.ShellWord(c.Tasks.Dir)))
	}
	if c.Review.Target != "" {
		if _, err := a.places(c).Latest(ctx); err != nil {
			list = append(list, fmt.Sprintf("review.target: %v, so nothing can land: %s", err, cmp.Or(fleet.Hint(err), "git branch --all")))
		}
	}
	return list
}
