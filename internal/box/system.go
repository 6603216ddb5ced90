package box

import (
	"slices"

	"stint/internal/fleet"
)

// toStart lists the paths that programs need to start, and to find users, hosts and certificates.
func toStart() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup",
		"/dev", "/etc/alternatives", "/etc/ca-certificates", "/etc/gai.conf", "/etc/gitconfig", "/etc/group", "/etc/host.conf", "/etc/hosts",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime", "/etc/mime.types",
		"/etc/nsswitch.conf", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl",
		// Where the resolver's configuration is a link to, by who keeps it.
		"/run/systemd/resolve/resolv.conf", "/run/systemd/resolve/stub-resolv.conf", "/run/resolvconf/resolv.conf",
		"/run/NetworkManager/resolv.conf",
	}
}

// system lists the paths that belong to the machine and to no user. /var/lib and /run as a whole have
// sockets, and what others keep.
func system() []string {
	return append(toStart(), "/etc", "/opt", "/nix", "/snap", "/sys", "/var/lib/dpkg", "/var/lib/gems", "/var/lib/ghc", "/var/cache/fontconfig",
		"/var/lib/ca-certificates", "/home/linuxbrew")
}

// toolChains lists the folders below a home in which tools are installed: the programs and the
// packages. The logins that some of them keep beside these are left out, such as
// .cargo/credentials.toml, .m2/settings.xml, .npmrc and .config/git/credentials.
func toolChains() []string {
	return []string{
		"go", "sdk", ".config/go/env", // Go: modules and programs; toolchains by golang.org/dl
		".cargo/bin", ".cargo/env", ".cargo/config.toml", ".cargo/registry", ".cargo/git", ".rustup", // Rust
		".nvm", ".npm", ".volta", ".fnm", ".bun", ".deno", ".npm-global", ".pnpm-store", ".yarn", ".nodenv", // JavaScript
		".pyenv", ".rye", ".conda", "miniconda3", "miniforge3", "anaconda3", // Python
		".rbenv", ".rvm", ".gem/ruby", ".asdf", ".tool-versions", ".config/mise", ".sdkman", ".jenv", // Ruby, and managers of versions
		".m2/repository", ".gradle/caches", ".gradle/wrapper", ".nuget/packages", ".dotnet", // Java, .NET
		".opam", ".ghcup", ".cabal/bin", ".cabal/packages", ".stack", ".elan", ".julia", ".juliaup", ".nix-profile", // others
		".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise", ".local/share/fnm",
		".local/share/pnpm", ".local/share/virtualenvs", ".local/share/claude",
		".cache/go-build", ".cache/pip", ".cache/uv", ".cache/pre-commit", ".cache/ms-playwright", ".cache/puppeteer",
		".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", // who commits, and what git overlooks
		".editorconfig", ".terminfo",
	}
}

// Settings are those of toolChains in which people keep tokens, too: in an address, or in a variable.
func Settings(home string) []string {
	return append(GitSettings(home), below(home, ".cargo/config.toml", ".config/mise", ".config/go/env")...)
}

// GitSettings are the files of git's in a home folder, a later one over those before.
func GitSettings(home string) []string { return below(home, ".config/git/config", ".gitconfig") }

// Writable are the paths that a process in the box may write: those of the box, its folder for temporary files, and
// devices.
func Writable(b fleet.Box) []string {
	tmp := b.Tmp
	if b.Layers.Namespaces != "" {
		tmp = "/tmp" // its own
	}
	return clean(slices.Concat(devices(), b.Write, []string{tmp}))
}

// devices may be written. Folders of it that are shared, such as /dev/shm, are the
// namespace's own where there is one.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}
