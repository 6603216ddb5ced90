package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stint/internal/fleet"
)

// usage marks an error as one of the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", fleet.ErrUsage, err)
}

// takes are the words that a usage asks for after the command's name: WORD… is one or more, and [WORD], or (WORD | --flag), one at
// most. A flag ends them.
func takes(use string) cobra.PositionalArgs {
	least, most := 0, 0
	for _, word := range strings.Fields(use)[1:] {
		name := strings.TrimLeft(word, "[(")
		if strings.HasPrefix(name, "-") || name == "|" {
			break
		}
		if name == word {
			least++
		}
		if most++; strings.HasSuffix(word, "…") {
			return cobra.MinimumNArgs(least)
		}
	}
	return cobra.RangeArgs(least, most)
}

// wordsWanted says of words that a command does not take which are missing, or which is one
// too many, in place of how many there are.
func wordsWanted(takes cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := takes(cmd, args)
		if err == nil || cmd.Name() == "help" { // which has its own words for what it does not know
			return err
		}
		excess := len(args)
		for excess >= 0 && takes(cmd, args[:excess]) != nil {
			excess--
		}
		switch {
		case excess < 0:
			_, wanted, _ := strings.Cut(cmd.Use, " ")
			return fmt.Errorf("%s: %s is missing", cmd.CommandPath(), wanted)
		case cmd.HasSubCommands() && (excess == 0 || fleet.Nearest(args[0], names(cmd)) != ""):
			return noSuchCommand(cmd, args)
		}
		return fmt.Errorf("%s: %q is a word too many", cmd.CommandPath(), args[excess])
	}
}

// flagWanted says what is wrong with a flag.
func flagWanted(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		bare    *pflag.ValueRequiredError
		wrong   *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			return fmt.Errorf("%s has no flag -%s", cmd.CommandPath(), unknown.GetSpecifiedName())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		err := fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), unknown.GetSpecifiedName())
		if near := fleet.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fleet.WithHint(err, fmt.Sprintf("did you mean --%s?", near))
		}
		return err
	case errors.As(err, &bare):
		kind, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("--%s wants a value: %s", bare.GetFlag().Name, kind)
	case errors.As(err, &wrong):
		cause := wrong.Unwrap()
		if errors.As(cause, new(*strconv.NumError)) {
			cause = errors.New("want a number")
			if wrong.GetFlag().Value.Type() == "bool" {
				cause = errors.New("want true or false")
			}
		}
		return fmt.Errorf("--%s %q: %w", wrong.GetFlag().Name, wrong.GetValue(), cause)
	}
	return err
}

// groupWanted says which flags are missing, or exclude each other. Cobra has no types for
// these, only words.
func groupWanted(err error) error {
	groups := regexp.MustCompile(`^(at least one|if any).*\[([^]]+)\]`) // not at every start of the program
	found := groups.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	flags := strings.Fields(found[2])
	if found[1] == "at least one" {
		return fmt.Errorf("--%s is missing", strings.Join(flags, " or --"))
	}
	return fmt.Errorf("--%s exclude each other", strings.Join(flags, " and --"))
}
