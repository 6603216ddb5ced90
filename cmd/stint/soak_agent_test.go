package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// soakActs lists the acts of the soak's agents, each with its share. The run's id decides, so
// that a session follows from its number.
func soakActs() []soakAct {
	return []soakAct{
		{"deliver", 30, func(s soakSession) error { return errors.Join(s.commit(s.own()), s.grade(s.chance.IntN(9))) }},
		{"push", 14, soakSession.push},
		{"commit only", 8, func(s soakSession) error { return s.commit(s.own()) }},
		{"contend", 14, func(s soakSession) error { return errors.Join(s.commit("contended"), s.grade(4)) }},
		{"crash", 5, func(s soakSession) error { return errors.Join(os.WriteFile("half."+s.run, nil, 0o600), exits(3)) }},
		{"silent", 4, func(soakSession) error { return soakStay(8*time.Second, 8*time.Second) }},
		{"endless", 4, func(soakSession) error { return soakStay(9*time.Second, 200*time.Millisecond) }},
		{"flood", 5, func(s soakSession) error { return errors.Join(soakFlood(8<<20), s.grade(2)) }},
		{"litter", 6, func(s soakSession) error { return errors.Join(soakLitter(), s.grade(6)) }},
		{"nothing done", 4, func(soakSession) error { return nil }},
		{"nothing to do", 4, func(s soakSession) error { return s.result(`{"outcome": "nothing", "task_state": "done"}`) }},
		{"wall", 5, soakSession.wall},
		{"deaf", 2, func(soakSession) error {
			signal.Ignore(syscall.SIGTERM)
			return soakStay(20*time.Second, 200*time.Millisecond)
		}},
	}
}

type soakAct struct {
	name  string
	often int
	do    func(soakSession) error
}

// soakSession has an act's knowledge of its session.
type soakSession struct {
	agent, run string
	chance     *rand.Rand
}

// soakAgent plays an agent: "doomed" always crashes, "moody" meets usage limits, and any
// other does all the rest.
func soakAgent(agent string) error {
	s := soakSession{agent: agent, run: os.Getenv("STINT_RUN_ID")}
	sum := fnv.New64a()
	fmt.Fprint(sum, s.run)
	s.chance = rand.New(rand.NewPCG(5, sum.Sum64()))
	if err := soakStay(time.Duration(s.chance.IntN(900))*time.Millisecond, time.Second); err != nil {
		return err
	}
	if agent == "doomed" {
		return exits(1)
	}
	act := s.pick(soakActs())
	fmt.Println("act:", act.name)
	return act.do(s)
}

func (s soakSession) pick(acts []soakAct) soakAct {
	sum := 0
	for _, a := range acts {
		sum += a.often
	}
	n := s.chance.IntN(sum)
	for _, a := range acts {
		if n -= a.often; n < 0 {
			return a
		}
	}
	return acts[0]
}

// own is a file that no other session writes.
func (s soakSession) own() string { return "work." + s.run }

// commit commits a file, as often as it takes beside the others in the same folder.
func (s soakSession) commit(file string) error {
	if err := os.WriteFile(file, []byte(s.run+"\n"), 0o600); err != nil {
		return err
	}
	return s.insist(func() error {
		return errors.Join(command("git", "add", "--", file), command("git", "commit", "-q", "-m", "session "+s.run, "--", file))
	})
}

// insist tries again while another git is in the way.
func (s soakSession) insist(try func() error) (err error) {
	for range 20 {
		if err = try(); err == nil {
			return nil
		}
		if err := soakStay(time.Duration(20+s.chance.IntN(80))*time.Millisecond, time.Second); err != nil {
			return err
		}
	}
	return err
}

// push commits and takes the commit to the remote, if nobody was quicker.
func (s soakSession) push() error {
	if err := s.commit(s.own()); err != nil {
		return err
	}
	_ = command("git", "push", "-q", "origin", "HEAD:main") // The remote may have moved on.
	return s.grade(s.chance.IntN(9))
}

// grade gives the session so many eighths, and in most cases closes its task.
func (s soakSession) grade(eighths int) error {
	state := []string{"done", "done", "done", "todo"}[s.chance.IntN(4)]
	return s.result(fmt.Sprintf(`{"grade": %v, "task_state": %q, "tokens": %d, "cost_usd": 0.25}`, float64(eighths)/8, state, 100+s.chance.IntN(900)))
}

// wall meets the rate limit of an agent that has one.
func (s soakSession) wall() error {
	if s.agent != "moody" {
		return s.grade(5)
	}
	return s.result(fmt.Sprintf(`{"outcome": "quota", "quota": {"reset_at": %q}}`, time.Now().Add(3*time.Second).UTC().Format(time.RFC3339)))
}

func (soakSession) result(json string) error {
	return os.WriteFile(os.Getenv("STINT_RESULT"), []byte(json), 0o600)
}

func exits(status int) error {
	os.Exit(status)
	return nil
}

// soakStay keeps the agent for a time, in which it says something now and then.
func soakStay(length, pause time.Duration) error {
	over := time.After(length)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-tick.C:
			fmt.Println("still here")
		}
	}
}

func soakFlood(size int) error {
	line := strings.Repeat("flood ", 1000) + "\n"
	for written := 0; written < size; written += len(line) {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return err
		}
	}
	return nil
}

// soakLitter leaves processes that outlive the agent: in its group, in a session of their
// own, and one that has dropped every descriptor.
func soakLitter() error {
	for _, script := range []string{"sleep 60 &", "setsid sleep 60 &", "setsid sh -c 'exec sleep 60 <&- >&- 2>&- 3>&- 4>&-' & sleep 0.1"} {
		cmd := exec.Command("sh", "-c", script)
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// soakActOf returns the act of a run's agent, from its log.
func soakActOf(state, run string) string {
	f, err := os.Open(filepath.Join(state, "runs", run, "log"))
	if err != nil {
		return "without a log"
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	_, after, _ := strings.Cut(string(head[:n]), "act: ")
	name, _, _ := strings.Cut(after, "\n")
	return cmp.Or(name, "ended before it")
}
