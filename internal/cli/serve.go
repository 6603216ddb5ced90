package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/rundir"
	"stint/internal/web"
)

type serveOptions struct {
	listen    string
	tokenFile string
	hosts     []string
}

func newServe(a *app) *cobra.Command {
	o := serveOptions{listen: "127.0.0.1:7788"}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show the fleet in a browser, and to Prometheus",
		Long: `Show the fleet in a browser: running sessions, a timeline of the lanes, the ranking
explained, claims, fires and their reasons, and every run with its log. The pages are
read-only and update themselves. /ranking, /claims, /fires, /runs and /report have a JSON
object each: add .json. /metrics is for Prometheus, and /healthz is 200 while the fleet can be
read, else 503.

Everybody who can connect can read everything, logs included. An address that is not loopback
therefore requires a token: $STINT_TOKEN, or --token-file, a file of 16 bytes or more that
only its owner can read. A program brings it as "Authorization: Bearer TOKEN"; a browser asks
for it. It crosses the network unencrypted: put a proxy that speaks TLS, or ssh, in front.
Under another name than localhost the page answers only with --host NAME.

From another machine, without any of that:

  ssh -L 7788:127.0.0.1:7788 HOST`,
		Example: `  stint serve
  head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' | install -D -m 600 /dev/stdin ~/.config/stint/token
  stint serve --listen 0.0.0.0:7788 --token-file ~/.config/stint/token --host build.example.org`,
		Args: cobra.NoArgs,
		RunE: with(a.runServe, &o),
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", o.listen, "listen at this `ADDRESS`; port 0 takes a free one")
	f.StringVar(&o.tokenFile, "token-file", "", "require the token in this `FILE` (default $STINT_TOKEN)")
	f.StringArrayVar(&o.hosts, "host", nil, "answer by this `NAME`, too; may be repeated")
	return cmd
}

// The limits of a connection. Streams and logs set their own time for writing.
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	pageTime    = 30 * time.Second
	idleTime    = 2 * time.Minute
	mostHeader  = 16 << 10
	// goodbye is what requests under way get when the command is asked to stop.
	goodbye = 3 * time.Second
)

func (a *app) runServe(ctx context.Context, o serveOptions) error {
	token, err := a.token(o.tokenFile)
	if err != nil {
		return err
	}
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.configPath = c.Path // another one found once this is gone would be of another fleet
	listener, err := listen(ctx, o.listen)
	if err != nil {
		return err
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); token == "" && (!ok || !tcp.IP.IsLoopback()) {
		return errors.Join(fleet.WithHint(
			usage(fmt.Errorf("listen at %s: everybody who reaches it could read everything: want a token", listener.Addr())),
			"--token-file FILE, or --listen 127.0.0.1:7788 and ssh -L"), listener.Close())
	}
	handler := web.New(web.Options{
		With: func(ctx context.Context, fn func(*inspect.Explainer) error) error {
			return a.explain(ctx, func(e *inspect.Explainer) error {
				e.Log = slog.New(slog.DiscardHandler) // what is wrong is on the page, at every look
				return fn(e)
			})
		},
		Fleet: c.Fleet, Version: version(), Token: token, Hosts: o.hosts, Open: rundir.Open, Log: a.log, Now: a.Now,
	})
	url := "http://" + listener.Addr().String() + "/"
	if a.json {
		printLine(a.Stdout, serveObject(url).JSON(c.Fleet))
	} else {
		fmt.Fprintf(a.Stderr, "stint: listening on %s\n", url)
	}
	return serve(ctx, listener, &http.Server{
		Handler: a.secrets.handler(handler), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: pageTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // of what clients do wrong
		// Streams end with it, so that they do not keep the server from ending.
		BaseContext: func(net.Listener) context.Context { return ctx },
	})
}

// serve answers requests until the context ends, and then those that are under way. How
// it ended is the cause.
func serve(ctx context.Context, l net.Listener, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		_ = server.Close() // who did not go by then is cut off
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return reported{context.Cause(ctx)}
}

// listen opens a socket.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Is4() {
		network = "tcp4" // of IPv4 alone: 0.0.0.0 is not all of IPv6 as well
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fleet.WithHint(fmt.Errorf("listen at %s: something else does already", address), "--listen 127.0.0.1:0 takes a free port")
	case errors.Is(err, syscall.EACCES):
		return nil, fleet.WithHint(err, "ports below 1024 are the system's: --listen 127.0.0.1:7788")
	case err != nil:
		return nil, fleet.WithHint(usage(err), "want HOST:PORT, or :PORT for every address of this machine, such as :80")
	}
	return l, nil
}

// shortestToken is such that nobody guesses it.
const shortestToken = 16

// token is what requests must bring; empty: nothing. A file that others can read is
// refused, as what it holds is no secret.
func (a *app) token(path string) (string, error) {
	text, from := a.Getenv("STINT_TOKEN"), "$STINT_TOKEN"
	if path != "" {
		info, err := os.Stat(path)
		if err != nil {
			return "", usage(err)
		}
		if !info.Mode().IsRegular() {
			return "", usage(fmt.Errorf("token file %s: not a regular file", path))
		}
		if info.Mode().Perm()&0o077 != 0 {
			return "", fleet.WithHint(usage(fmt.Errorf("token file %s: mode %v: others can read it", path, info.Mode())), "chmod 600 "+path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", usage(err)
		}
		text, from = string(data), path
	}
	text = strings.TrimSpace(text)
	if text != "" && len(text) < shortestToken || text == "" && path != "" {
		return "", usage(fmt.Errorf("token of %s: %d bytes, want %d or more", from, len(text), shortestToken))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fleet.WithHint(usage(fmt.Errorf("token of %s: no request can bring it: want letters, digits and signs of ASCII, without a space", from)),
			"head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \\n'")
	}
	return text, nil
}
