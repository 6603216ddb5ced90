PREFIX ?= $(HOME)/.local
GO     ?= go
LINT   := $(GO) tool -modfile=scripts/tools.mod golangci-lint

# Debian's Go stays with the version it came as by default; go.mod may name a later one.
export GOTOOLCHAIN ?= auto

# One static file has no libraries to find at each start. The tags leave out the parts that need them: SQLite's
# extensions, and names that the C library looks up.
# HTTP/2 is left out, too: the pages are served in the clear. scripts/dist has the same flags.
STATIC := -tags sqlite_omit_load_extension,netgo,osusergo,nethttpomithttp2 \
	-ldflags '-funcalign=16 -linkmode external -extldflags -static'
OPTIMIZE := -O2 -fno-asynchronous-unwind-tables
build bench: export CGO_CFLAGS := $(OPTIMIZE)

.DEFAULT_GOAL := help
.PHONY: help build demo demo-hosts test test-agents test-trackers test-patroni test-arch test-dist dist race storm storm-hosts soak week lint bench bench-selection install uninstall fmt tidy clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

build: ## compile bin/stint
	@scripts/setup build
	$(GO) build -trimpath $(STATIC) -o bin/stint ./cmd/stint

demo: ## watch a small fleet work for a minute, on a manager of its own if need be
	@scripts/demo

demo-hosts: ## watch three hosts share a PostgreSQL server, while one is killed and one is cut off
	@scripts/demo --hosts

test: ## vet and test everything, on a real systemd user manager
	@scripts/setup test
	@scripts/test

race: ## test the packages that start a goroutine again, under the race detector
	@scripts/setup test
	@scripts/race

test-agents: ## try the presets with the real claude and codex, which npm fetches, and a stub of their models
	@scripts/setup test-agents
	@scripts/test-agents

test-trackers: ## close issues with the real gh and a stub of GitHub, and with a stand-in for bd
	@scripts/setup test-trackers
	@scripts/test-trackers

test-patroni: ## kill the leader of a cluster that Patroni keeps, and count the claims that are lost
	@scripts/setup test-patroni
	@scripts/test-patroni

test-arch: ## replay the ranking with the instructions of other processors, arm64 among them
	@scripts/setup arch
	@scripts/test-arch

dist: ## build a release into dist/: tarball, .deb, .rpm, SBOM and sums, equal to the bit wherever it is made
	@scripts/setup build
	@scripts/dist

test-dist: ## build it twice, and install, upgrade, downgrade and purge it on bare Debians
	@scripts/setup test-dist
	@scripts/test-dist

storm: ## a hundred processes fight over fifty claims, and are killed at it
	@scripts/setup build
	@scripts/storm

storm-hosts: ## twenty machines share a server for ten minutes, while networks, servers and workers fail
	@scripts/setup test
	@scripts/storm hosts

soak: ## a fleet lives ten minutes, or SOAK=1m, while everything in it fails and is killed
	@scripts/setup test
	@scripts/soak

week: ## three fleets live a week in minutes, with all that happens to such fleets; the report is compared with SQL
	@scripts/week

lint: ## check imports, habits, format and the shell scripts
	@scripts/setup lint
	@scripts/lint

bench: build ## measure stint beside the sqlite3 shell, psql, a bare Go program, flock and bare SQL
	@scripts/setup bench
	$(GO) build -trimpath $(STATIC) -o bin/bareclaim ./scripts/bareclaim
	$(GO) build -trimpath $(STATIC) -tags linked -o bin/bareclaim-linked ./scripts/bareclaim
	$(GO) build -trimpath $(STATIC) -tags linked,server -o bin/bareclaim-server ./scripts/bareclaim
	@scripts/bench

bench-selection: ## play the published problems of choosing and those of real fleets, with fresh seeds
	@scripts/setup build
	@scripts/bench-selection

# A program that is built already is installed by make install STINT=FILE.
PROGRAM := $(or $(STINT),bin/stint)
DEST     = $(DESTDIR)$(PREFIX)
# What writes the manual pages is compiled as the program was, of parts that are compiled already.
MANPAGES = $(if $(STINT),$(GO) run,CGO_CFLAGS='$(OPTIMIZE)' $(GO) run -trimpath $(STATIC)) ./scripts/manpages

install: $(if $(STINT),,build) ## install program, manual pages and completions into $(PREFIX), by default ~/.local
	install -D -m 0755 '$(PROGRAM)' '$(DEST)/bin/stint'
	$(MANPAGES) '$(DEST)/share/man' "$$('$(PROGRAM)' --version)"
	'$(PROGRAM)' completion bash | install -D -m 0644 /dev/stdin '$(DEST)/share/bash-completion/completions/stint'
	'$(PROGRAM)' completion zsh | install -D -m 0644 /dev/stdin '$(DEST)/share/zsh/site-functions/_stint'
	'$(PROGRAM)' completion fish | install -D -m 0644 /dev/stdin '$(DEST)/share/fish/vendor_completions.d/stint.fish'
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo 'not in your PATH yet: export PATH=$(PREFIX)/bin:$$PATH' ;; esac

uninstall: ## remove what install has put into $(PREFIX)
	rm -f '$(DEST)/bin/stint' '$(DEST)/share/man/man1/stint.1' '$(DEST)/share/man/man1/stint-'*.1 '$(DEST)/share/man/man5/stint-config.5' '$(DEST)/share/man/man7/stint-'*.7
	rm -f '$(DEST)/share/bash-completion/completions/stint' '$(DEST)/share/zsh/site-functions/_stint'
	rm -f '$(DEST)/share/fish/vendor_completions.d/stint.fish'

fmt: ## format the Go files
	$(LINT) fmt

tidy: ## bring go.mod and go.sum up to date
	$(GO) mod tidy

clean: ## remove what was built
	rm -rf bin coverage.out
