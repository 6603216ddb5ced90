// Command stint puts a fleet of autonomous agent sessions to work.
package main

import (
	"os"

	"stint/internal/box/inside"
	"stint/internal/cli"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == inside.Word {
		os.Exit(inside.Main(os.Args[2:]))
	}
	os.Exit(cli.Main(os.Args[1:], cli.Process()))
}
