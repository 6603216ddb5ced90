package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/agent/rundir"
	"stint/internal/config"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/review"
	"stint/internal/trust"
	"stint/internal/view"
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
explained, tasks, claims, fires and their reasons, and every run with its log. The pages update
themselves. Work in review is there with its diff; its two buttons do what "stint review land"
and "stint review reject" do, as your user. Each page has a JSON object: add .json. /metrics is
for Prometheus, and /healthz is 200 while the fleet can be read, else 503.

Requests must bring a token, or any user of the machine could read everything. The token is
made once, in the file token of the state folder, which no session in a box can read, or in that
of --token-file. On a terminal the printed address has it; a browser then keeps a cookie. A
program brings it as "Authorization: Bearer TOKEN", which Prometheus reads by credentials_file.
It crosses a network unencrypted: put a proxy that speaks TLS, or ssh, in front. Under another
name than localhost the page answers only with --host NAME.

From another machine:

  ssh -L 7788:127.0.0.1:7788 HOST`,
		Example: `  stint serve
  stint serve --listen 0.0.0.0:7788 --host build.example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", o.listen, "listen at this `ADDRESS`; port 0 takes a free one")
	f.StringVar(&o.tokenFile, "token-file", "", "keep the token in this `FILE` (default: token in the state folder)")
	f.StringArrayVar(&o.hosts, "host", nil, "answer by this `NAME`, too; may be repeated")
	return cmd
}

// The limits of a connection. Streams and logs set their own time for writing.
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	pageTime    = 30 * time.Second
	idleTime    = 2 * time.Minute
	maxHeader   = 16 << 10
	// goodbye bounds the rest of the requests under way when the command is asked to stop.
	goodbye = 3 * time.Second
)

// heapLimit is from when on memory is given back rather than taken, in bytes: what a report of a million runs has used is of no use
// to the pages after it.
const heapLimit = 32 << 20

func (a *app) runServe(ctx context.Context, o serveOptions) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.configPath = c.Path // another one found once this is gone would be of another fleet
	tokenFile, token, err := a.token(c, o.tokenFile)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(heapLimit)
	listener, err := listen(ctx, o.listen)
	if err != nil {
		return err
	}
	handler := web.New(web.Options{
		With: func(ctx context.Context, fn func(*inspect.Explainer) error) error {
			return a.with(ctx, reading, func(f opened) error {
				f.Log = slog.New(slog.DiscardHandler) // what is wrong is on the page, at every look
				return fn(f.Explainer)
			})
		},
		Tasks: func(ctx context.Context, e *inspect.Explainer) ([]view.TaskEntry, error) {
			list, _, err := a.taskEntries(ctx, e.Reader, taskListOptions{}) // the first page names what is wrong in task files
			return list, err
		},
		Work: a.workShown,
		Land: func(run fleet.RunID, tip string) error {
			_, err := a.landSeen(ctx, run, tip)
			return err
		},
		Reject: func(run fleet.RunID, tip, reason string) error { return a.rejectSeen(ctx, run, tip, reason) },
		Fleet:  c.Fleet, Version: version(), Token: token, TokenFile: tokenFile, Hosts: o.hosts, Open: rundir.Open, Log: a.log, Now: a.Now,
	})
	address := "http://" + listener.Addr().String() + "/"
	switch _, shown := terminal(a.Stderr); {
	case a.json:
		printLine(a.Stdout, serveObject(address, tokenFile).JSON(c.Fleet))
	case shown:
		fmt.Fprintf(a.Stderr, "stint: listening on %s?token=%s\n", address, url.QueryEscape(token))
	default: // the journal has no token
		fmt.Fprintf(a.Stderr, "stint: listening on %s?token=TOKEN, for the TOKEN: cat %s\n", address, fleet.ShellWord(tokenFile))
	}
	return serve(ctx, listener, &http.Server{
		Handler: a.secrets.handler(handler), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: pageTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // of what clients do wrong
		// Streams end with it, so that they do not keep the server from ending.
		BaseContext: func(net.Listener) context.Context { return ctx },
	})
}

// pageDiff bounds the diff in a page, in bytes.
const pageDiff = 1 << 20

// workShown is the work of a run, with as much of its diff as a page shows.
func (a *app) workShown(ctx context.Context, e *inspect.Explainer, run fleet.RunID) (w web.Work, err error) {
	if err = a.missingRepository(ctx, e.Config); err != nil {
		return w, err
	}
	var items []review.Item
	if w.Target, items, err = e.Review(ctx); err != nil {
		return w, err
	}
	if w.Item, err = workOf(ctx, e.Reader, items, string(run)); err == nil {
		w.Diff, w.Cut, err = a.workDiff(ctx, e.Config, w.Target, w.Item, pageDiff)
	}
	return w, err
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

// token returns the token that requests must bring, and its file, which is made if there is none. A file that
// other users or sessions can read is refused, as it holds no secret.
func (a *app) token(c *config.Config, path string) (file, token string, err error) {
	if file, err = filepath.Abs(cmp.Or(path, filepath.Join(c.State, "token"))); err != nil {
		return "", "", err
	}
	refuse := func(hint, format string, args ...any) (string, string, error) {
		return "", "", fleet.WithHint(usage(fmt.Errorf("token file %s: "+format, append([]any{file}, args...)...)), hint)
	}
	var listed []string
	for _, agent := range c.Agents {
		listed = slices.Concat(listed, agent.Read, agent.Write)
	}
	if trust.Of(listed...).Has(file) || trust.Of(c.Workspace).Has(file) && !trust.Of(c.State).Has(file) {
		return refuse("leave out --token-file, or name a file elsewhere", "sessions can read it there")
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err = a.storeGone(c); err == nil {
			err = machine.WriteOnce(file, []byte(strings.ToLower(rand.Text())+"\n"))
		}
		if err == nil {
			info, err = os.Stat(file)
		}
	}
	switch {
	case err != nil:
		return "", "", fmt.Errorf("token file: %w", err)
	case !info.Mode().IsRegular():
		return refuse("", "not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return refuse("chmod 600 "+fleet.ShellWord(file), "mode %v: others can read it", info.Mode())
	}
	data, err := os.ReadFile(file)
	token = strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return "", "", err
	case len(token) < shortestToken:
		return refuse("remove it, and stint makes one", "%d bytes, want %d or more", len(token), shortestToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return refuse("remove it, and stint makes one", "no request can bring it: want letters, digits and signs of ASCII, without a space")
	}
	return file, token, nil
}
