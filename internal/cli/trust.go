package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/systemd"
	"stint/internal/trust"
)

func newConfigTrust(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Confirm changes of stint.toml, and of programs and prompts that it names",
		Long: `Show what has changed in stint.toml, and in the programs and prompts that it names, since a
person confirmed them, and ask to confirm it. A new file is shown whole. Sessions may have written
the changes. Until you confirm them, fires use the last confirmed stint.toml, and a category with a
changed program or prompt waits. The first fire confirms what it finds. See: stint help config.`,
		RunE: func(*cobra.Command, []string) error { return a.configTrust(yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// configPathInUse is the file that is to be read.
func (a *app) configPathInUse() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	path, err := config.Find(a.configPath, a.Getenv, dir, os.Geteuid())
	if err != nil {
		return "", err
	}
	return path, a.refuseCopy(path)
}

// refuseCopy refuses a file that lies in a session's clone, where the session wrote it or may
// have: it has no record, and would count as new. The session itself may read it.
func (a *app) refuseCopy(path string) error {
	for _, at := range []string{filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path)), resolved(path)} {
		for folder := filepath.Dir(at); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
			if filepath.Base(filepath.Dir(folder)) != "clones" {
				continue
			}
			id, err := fleet.ParseRunID(filepath.Base(folder))
			if err != nil || a.Getenv("STINT_SOCKET") != "" && a.Getenv("STINT_RUN_ID") == string(id) {
				continue
			}
			state := filepath.Dir(filepath.Dir(folder))
			if _, err := os.Lstat(filepath.Join(state, machine.IdentityFile)); err == nil {
				return fleet.WithHint(usage(fmt.Errorf("%s is a copy in the clone of session %s", path, id)),
					"run stint in the workspace, or name the workspace's file: --config")
			}
		}
	}
	return nil
}

// refuseNested refuses a file that nobody has confirmed in the workspace of another fleet: a session may have written it, or its
// work may have landed with it, and it would count as new.
func (a *app) refuseNested(path string) error {
	c := a.fleetAround(path)
	if c == nil {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("%w: sessions of fleet %s may write %s, and nobody has confirmed it", fleet.ErrUsage, c.Fleet, path),
		fmt.Sprintf("if it is yours: stint --config %s config trust; for fleet %s: --config %s", fleet.ShellWord(path), c.Fleet, fleet.ShellWord(c.Path)))
}

// fleetAround is another fleet whose sessions may write a file; nil: there is none.
func (a *app) fleetAround(path string) *config.Config {
	for dir := filepath.Dir(path); dir != "/"; {
		dir = filepath.Dir(dir)
		if c, err := config.Load(filepath.Join(dir, config.FileName), a.configOptions()); err == nil && a.reach(c).Has(path) {
			return c
		}
	}
	return nil
}

func (a *app) configOptions() config.Options {
	return config.Options{CheckUnit: systemd.CheckProperty, Getenv: a.Getenv, Host: a.hostName}
}

// trustStore returns the record of a configuration. It goes by the file's path alone, for what
// stands in the file, the state folder included, is what is in question.
func (a *app) trustStore(path string) trust.Store {
	folder := config.TrustFolder(a.Getenv)
	if folder == "" { // no home is named; the list of users is read only then
		if u, err := user.Current(); err == nil {
			folder = filepath.Join(u.HomeDir, ".local/state/stint/trusted-configs")
		}
	}
	return trust.Store{Dir: filepath.Join("/", folder, trust.Sum([]byte(path))[:16])}
}

// trustedConfig is the configuration at a path as a person confirmed it last: the file itself, or
// the text before a change that is held. Where nothing was confirmed, or no session may write the
// file, it is the file.
func (a *app) trustedConfig(path string) (*config.Config, error) {
	store := a.trustStore(path)
	record, err := store.Load()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(path, a.configOptions())
	if record.Sums == nil {
		return c, cmp.Or(err, a.refuseNested(path))
	}
	fault := err
	content, seen := trust.Read(path)
	if errors.Is(seen, fs.ErrNotExist) {
		return c, err
	}
	if err != nil || record.Judge(path, trust.Sum(c.Text())) != trust.Trusted {
		trusted, lost := store.Text(record.Sums[path])
		if lost != nil {
			return nil, fleet.WithHint(fmt.Errorf("read the trusted %s: %w", path, lost), "stint config trust")
		}
		before, broken := config.Parse(path, trusted, a.configOptions())
		switch {
		case broken != nil:
			return nil, errors.Join(err, broken)
		case a.reach(before).Has(path): // as it was: the new text may say anything of where that is
			c, err = before, nil
			held := fmt.Sprintf("%s has changed since it was trusted by %s, and is held", path, record.By)
			c.Trust.Held = fmt.Sprintf("%s (SHA-256 %.8s…): stint config trust", held, content.Sum)
			switch {
			case seen != nil:
				c.Trust.Held = fmt.Sprintf("%s: %v", held, seen)
			case fault != nil:
				first, _, _ := strings.Cut(fault.Error(), "\n")
				c.Trust.Held = fmt.Sprintf("%s (SHA-256 %.8s…), and cannot be confirmed: %s: stint config check", held, content.Sum, first)
				c.Trust.Broken = c.Trust.Held
			}
		}
	}
	if err != nil {
		return nil, err
	}
	c.Trust.Guard = a.trustGuard(c, record).Check
	return c, nil
}

// reach lists the folders in which sessions may write: the workspace, and all that is the operator's if any
// session is not boxed.
func (a *app) reach(c *config.Config) trust.Reach {
	folders := c.Writable()
	if home := a.Getenv("HOME"); c.Open() && filepath.IsAbs(home) {
		folders = append(folders, home)
	}
	return trust.Of(folders...)
}

func (a *app) trustGuard(c *config.Config, r trust.Record) trust.Guard {
	return trust.Guard{Record: r, Reach: a.reach(c), Workspace: c.Workspace, Environment: os.Environ()}
}

// inQuestion are the contents of the file and of all that it names within the reach of sessions,
// and why others are none that could be confirmed.
func (a *app) inQuestion(c *config.Config, r trust.Record) (contents map[string]trust.Content, refused []error) {
	contents = map[string]trust.Content{c.Path: trust.ContentOf(c.Text())}
	g := a.trustGuard(c, r)
	for _, argv := range c.Commands() {
		files := g.Files(argv, c.Workspace)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			content, err := trust.Read(files[name])
			if err != nil {
				refused = append(refused, err)
				continue
			}
			contents[name] = content
		}
	}
	return contents, refused
}

// secretFile reports whether a file's text is not to be kept, or shown.
func secretFile(c *config.Config) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(c.Agents)), func(a config.Agent) bool { return a.EnvironmentFile == path })
	}
}

// trustFirst confirms what the fleet's first fire finds: nobody's session by hand was to change it.
// From there on it holds for this process, too.
func (a *app) trustFirst(ctx context.Context, c *config.Config) {
	store := a.trustStore(c.Path)
	record, err := store.Load()
	if record.Sums != nil {
		return
	}
	contents, refused := a.inQuestion(c, record)
	for _, err := range refused {
		a.log.WarnContext(ctx, "file not trusted", slog.Any("err", err))
	}
	if err == nil {
		err = store.Save("the first fire", contents, secretFile(c))
	}
	if err == nil {
		record, err = store.Load()
	}
	if err != nil {
		a.log.ErrorContext(ctx, "configuration not trusted yet", slog.Any("err", err))
		return
	}
	c.Trust.Guard = a.trustGuard(c, record).Check
	if a.reach(c).Has(c.Path) || len(contents) > 1 {
		a.log.InfoContext(ctx, "configuration trusted as it is; a change waits for: stint config trust", slog.String("reason", "the first use"))
	}
}

// warnHeld says once that the file in force is not the one that a person sees.
func (a *app) warnHeld(c *config.Config) {
	if c.Trust.Held != "" && a.warned.CompareAndSwap(false, true) {
		a.warn(c.Trust.Held)
	}
}

func (a *app) configTrust(yes bool) error {
	if a.Getenv("STINT_RUN_ID") != "" {
		return fleet.WithHint(fmt.Errorf("config trust: %w: a session cannot confirm a change", fleet.ErrHeld), "run it as a person: stint config trust")
	}
	path, err := a.configPathInUse()
	if err != nil {
		return err
	}
	c, err := config.Load(path, a.configOptions())
	if err != nil {
		return err
	}
	a.secrets.hide(a.Getenv, c)
	store := a.trustStore(path)
	record, err := store.Load()
	if err != nil {
		a.warn(err.Error()) // confirmed anew, it can be read again
	}
	if text, err := store.Text(record.Sums[path]); err == nil {
		if before, err := config.Parse(path, text, a.configOptions()); err == nil {
			a.secrets.hide(a.Getenv, c, before) // the difference shows both
		}
	}
	contents, refused := a.inQuestion(c, record)
	for _, err := range refused {
		a.warn(err.Error())
	}
	var changes []trustChange
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		v := record.Judge(name, contents[name].Sum)
		if record.Sums == nil {
			v = trust.Unknown // no session ran that could have changed it; a person sees it all the same
		}
		if v == trust.Trusted {
			continue
		}
		before := trust.Content{Sum: record.Sums[name]} // that was not kept, or is new
		if text, err := store.Text(record.Sums[name]); err == nil {
			before = trust.ContentOf(text)
		}
		diff := trust.Diff(before, contents[name])
		if secretFile(c)(name) {
			diff = ""
		}
		changes = append(changes, trustChange{name, string(v), diff})
		if !a.json {
			fmt.Fprintf(a.Stdout, "%s: %s\n%s", plain.Text(name), v, plain.Text(diff))
		}
	}
	if len(changes) > 0 && !yes {
		if err := a.confirm("config trust", "Type yes to have stint run this", "yes"); err != nil {
			return err
		}
	}
	// The text that was shown is confirmed, and not the one that is there by now.
	err = store.Save(a.user(), contents, secretFile(c))
	return a.sayDone(err, trustObject(changes).JSON(path), fmt.Sprintf("trusted: %s, and %d files that it names", path, len(contents)-1))
}
