package pgtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// socket is the name of a server's socket in its folder.
const socket = ".s.PGSQL.5432"

// Proxy stands between clients and a server, and can do to what they say what networks do. It knows
// the protocol well enough to see round trips: a client's messages up to one that wants an answer,
// and the server's up to the one by which it waits for more
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
type Proxy struct {
	Dir string // with its socket

	// Fate says what becomes of a connection's round trip, counted from 1 over all connections, by what
	// the client says; nil: all are carried. It is set before the first connection, as is Delay.
	Fate func(trip int, said []byte) Fate

	Delay time.Duration // of a round trip, half of it each way

	listener net.Listener
	server   string
	mu       sync.Mutex
	open     map[net.Conn]bool // nil: all are cut
	trips    int
	held     [2]chan struct{} // by way; nil: it is open
}

// Way is one of the two ways of a network.
type Way int

const (
	ToServer Way = iota
	ToClient
)

// Fate is the end of a round trip.
type Fate int

const (
	Carried     Fate = iota
	RequestLost      // the connection ends before the server hears of it
	AnswerLost       // the connection ends when the server has done it
)

// Types of messages.
const (
	query         = 'Q'
	readyForQuery = 'Z'
	syncs         = 'S'
	terminate     = 'X'
)

// Between makes a proxy in front of the server with its socket in a folder.
func Between(ctx context.Context, server string) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	return BetweenAt(ctx, dir, server)
}

// BetweenAt makes a proxy with its socket in a folder.
func BetweenAt(ctx context.Context, dir, server string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", filepath.Join(dir, socket))
	if err != nil {
		return nil, err
	}
	p := &Proxy{Dir: dir, listener: l, server: filepath.Join(server, socket), open: map[net.Conn]bool{}}
	go p.serve(ctx)
	return p, nil
}

// DSN is the address of the proxy.
func (p *Proxy) DSN() string { return dsn(p.Dir) }

// Trips counts the round trips, without those by which connections begin.
func (p *Proxy) Trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Cut ends all connections, and lets none through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
	p.open = nil
}

// Hold lets nothing through one way, while connections stay: to both ends the peer seems slow. All
// that is said meanwhile arrives when the network heals.
func (p *Proxy) Hold(w Way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[w] == nil {
		p.held[w] = make(chan struct{})
	}
}

// Heal ends a cut, and lets through what was held.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[net.Conn]bool{}
	}
	for w, held := range p.held {
		if held != nil {
			close(held)
		}
		p.held[w] = nil
	}
}

// pass waits as what is said has to on a way.
func (p *Proxy) pass(w Way) {
	p.mu.Lock()
	held := p.held[w]
	p.mu.Unlock()
	if held != nil {
		<-held
	}
	if p.Delay > 0 {
		time.Sleep(p.Delay / 2) //nolint:forbidigo // that is what is wanted
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	p.Heal() // what was held finds its connection closed
	return errors.Join(err, os.RemoveAll(p.Dir))
}

func (p *Proxy) serve(ctx context.Context) {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			s, err := new(net.Dialer).DialContext(ctx, "unix", p.server)
			if err != nil {
				return
			}
			defer s.Close()
			if p.add(c, s) {
				_ = p.carry(c, s) // ends with one of the two
			}
			p.forget(c, s)
		}()
	}
}

func (p *Proxy) add(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return false
	}
	for _, c := range ends {
		p.open[c] = true
	}
	return true
}

func (p *Proxy) forget(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		delete(p.open, c)
	}
}

// carry carries one trip after the other until an end.
func (p *Proxy) carry(client, server net.Conn) error {
	from, back := bufio.NewReader(client), bufio.NewReader(server)
	toClient := func(all []byte) error {
		p.pass(ToClient)
		_, err := client.Write(all)
		return err
	}
	hello, err := body(from, nil) // has no type
	if err != nil {
		return err
	}
	p.pass(ToServer)
	if _, err := server.Write(hello); err != nil {
		return err
	}
	if err := answer(back, toClient); err != nil {
		return err
	}
	for {
		request, err := request(from)
		if err != nil {
			return err
		}
		fate := p.next(request)
		if fate == RequestLost {
			return nil
		}
		p.pass(ToServer)
		if _, err := server.Write(request); err != nil {
			return err
		}
		to := toClient
		if fate == AnswerLost {
			to = func([]byte) error { return nil }
		}
		if err := answer(back, to); err != nil || fate == AnswerLost {
			return err
		}
	}
}

func (p *Proxy) next(said []byte) Fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trips++
	if p.Fate == nil {
		return Carried
	}
	return p.Fate(p.trips, said)
}

// request reads a client's messages up to Sync or Query, which want an answer.
func request(from *bufio.Reader) (all []byte, err error) {
	for {
		kind, err := from.ReadByte()
		if err != nil {
			return nil, err
		}
		if kind == terminate {
			return nil, io.EOF
		}
		if all, err = body(from, append(all, kind)); err != nil || kind == syncs || kind == query {
			return all, err
		}
	}
}

// answer passes on a server's messages up to ReadyForQuery.
func answer(from *bufio.Reader, to func([]byte) error) error {
	var all []byte
	for {
		kind, err := from.ReadByte()
		if err != nil {
			_ = to(all) // why it ends
			return err
		}
		if all, err = body(from, append(all, kind)); err != nil {
			return err
		}
		if kind == readyForQuery {
			return to(all)
		}
	}
}

// body adds a message's length, which counts itself, and what follows.
func body(from *bufio.Reader, to []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 4 || n > math.MaxInt32 {
		return nil, errors.New("that is no message")
	}
	to = append(to, length[:]...)
	rest := make([]byte, n-4)
	_, err := io.ReadFull(from, rest)
	return append(to, rest...), err
}
