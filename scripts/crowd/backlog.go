package main

import (
	"cmp"
	"slices"
	"time"

	"stint/internal/fleet"
)

// task is one unit of work, and its claim. A million of them fit into memory.
type task struct {
	claim
	created  time.Duration
	ready    time.Duration // when it could be worked on, last
	place    int32         // in its backlog; nobody: it is not offered to everyone
	family   int32
	turn     uint32
	category int16
	priority uint8
	begun    bool // its state is active
	worked   bool // by any session so far
	settled  bool
	disputed bool  // it is listed as such
	sessions uint8 // that work on it, with a supervisor
	orphans  uint8 // and without
}

// backlog is a category's tasks that some session may take.
type backlog struct {
	tasks    *[]task
	open     []int32 // free for everyone: a heap in the order of before
	disputed []int32 // held, but the claim may be free for some: everyone asks for himself
	family   int32   // of the task that came last
	news     time.Duration
}

// priorities are in the order of their ranks.
func priorities() []fleet.Priority {
	return []fleet.Priority{fleet.PriorityUrgent, fleet.PriorityHigh, fleet.PriorityMedium, fleet.PriorityLow}
}

// before is the order in which sessions try tasks, as sortReady in package selector:
// begun first, then the pressing, then the old. Nothing here waits for a task.
func (b *backlog) before(x, y int32) bool {
	s, t := &(*b.tasks)[x], &(*b.tasks)[y]
	if s.begun != t.begun {
		return s.begun
	}
	return cmp.Or(cmp.Compare(s.priority, t.priority), cmp.Compare(s.created, t.created), cmp.Compare(x, y)) < 0
}

func (b *backlog) put(i int, id int32) {
	b.open[i] = id
	(*b.tasks)[id].place = int32(i)
}

func (b *backlog) offer(id int32) {
	b.open = append(b.open, id)
	b.up(len(b.open)-1, id)
}

func (b *backlog) up(i int, id int32) {
	for i > 0 && b.before(id, b.open[(i-1)/2]) {
		b.put(i, b.open[(i-1)/2])
		i = (i - 1) / 2
	}
	b.put(i, id)
}

func (b *backlog) down(i int, id int32) {
	for {
		least := 2*i + 1
		if least >= len(b.open) {
			break
		}
		if least+1 < len(b.open) && b.before(b.open[least+1], b.open[least]) {
			least++
		}
		if !b.before(b.open[least], id) {
			break
		}
		b.put(i, b.open[least])
		i = least
	}
	b.put(i, id)
}

// withdraw takes a task out of what is offered to everyone, if it is there.
func (b *backlog) withdraw(id int32) {
	i := int((*b.tasks)[id].place)
	if i < 0 {
		return
	}
	(*b.tasks)[id].place = nobody
	last := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	if last == id {
		return
	}
	b.up(i, last)
	b.down(int((*b.tasks)[last].place), last)
}

// dispute lists a held task for everyone to ask about, settle takes it off the list.
func (b *backlog) dispute(id int32) {
	if t := &(*b.tasks)[id]; !t.disputed {
		t.disputed = true
		b.disputed = append(b.disputed, id)
	}
}

func (b *backlog) settle(id int32) {
	if t := &(*b.tasks)[id]; t.disputed {
		t.disputed = false
		i := slices.Index(b.disputed, id)
		b.disputed = slices.Delete(b.disputed, i, i+1)
	}
}

// best is the first task in order that is of none of the families and, where its claim
// is in dispute, free; nobody without one.
func (b *backlog) best(shun []int32, free func(id int32) bool) int32 {
	best := b.first(shun)
	for _, id := range b.disputed {
		if !slices.Contains(shun, (*b.tasks)[id].family) && free(id) && (best == nobody || b.before(id, best)) {
			best = id
		}
	}
	return best
}

// first is the first open task of none of the families.
func (b *backlog) first(shun []int32) int32 {
	var aside []int32
	found := nobody
	for len(b.open) > 0 && found == nobody {
		if id := b.open[0]; slices.Contains(shun, (*b.tasks)[id].family) {
			aside = append(aside, id)
			b.withdraw(id)
		} else {
			found = id
		}
	}
	for _, id := range aside {
		b.offer(id)
	}
	return found
}
