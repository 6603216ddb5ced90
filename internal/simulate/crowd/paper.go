package crowd

import (
	"math"
	"time"
)

// Paper is what a sheet of paper says of the store's load, when every worker finds a task
// at once and nobody dies.
type Paper struct {
	SessionsPerHour float64
	Claims          float64 // held at any time
	Utilisation     float64 // of the store; 1 and more: it cannot keep up
	Hosts           float64 // at which it would be 1, all else equal
}

// OnPaper reckons the load. Sessions per hour are as many as tasks come for, each taken up
// 1/Done times, and no more than there are lanes, each of which is started at the first
// fire after its session and cooldown; by Little's law, claims are sessions per hour times
// their length. What a session asks of the store is as in worker.go, a fire as in fire.go:
// its looks grow with the claims, so that the load grows with the square of the hosts.
func OnPaper(o Options) Paper {
	p := o.sheet()
	low, high := 0.0, 1.0
	for low == 0 || high-low > high/1e6 { // of what multiplies the hosts
		middle := (low + high) / 2
		if low == 0 && high < 1e9 && o.times(high).sheet().Utilisation < 1 {
			high *= 2
			continue
		}
		if o.times(middle).sheet().Utilisation < 1 {
			low = middle
		} else {
			high = middle
		}
		if high < 1e-9 {
			break
		}
	}
	p.Hosts = high * float64(o.Hosts)
	return p
}

// scaled are options for so many times the hosts.
type scaled struct {
	Options
	factor float64
}

func (o Options) times(factor float64) scaled { return scaled{o, factor} }

func (o Options) sheet() Paper { return o.times(1).sheet() }

func (s scaled) sheet() Paper {
	c := s.Costs
	hosts := s.factor * float64(s.Hosts)
	mean := s.meanLength()
	turns := math.Ceil((mean+s.Cooldown.Hours())/s.Every.Hours()) * s.Every.Hours()
	places := min(float64(s.Workers), float64(s.Categories*s.Lanes))
	sessions := min(s.factor*s.TasksPerHour/s.Done, hosts*places/turns)
	p := Paper{SessionsPerHour: sessions, Claims: sessions * mean}
	look := c.Snapshot.Hours() + p.Claims*(c.SnapshotClaim+c.Ask).Hours()
	beats := math.Floor(mean / (s.TTL.Hours() / beat))
	session := (6+beats)*c.Write.Hours() + 3*c.Read.Hours() + look + c.FireRun.Hours()
	fires := hosts / s.Every.Hours()
	fire := (c.Sweep + c.Snapshot + c.Fire).Hours() + p.Claims*(c.SweepClaim+c.SnapshotClaim).Hours() + look
	p.Utilisation = sessions*session + fires*fire
	return p
}

// meanLength is the mean of a session in hours, which its time-out cuts off.
func (o Options) meanLength() float64 {
	if o.Sigma == 0 {
		return min(o.Median, o.Timeout).Hours()
	}
	below := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	z := math.Log(float64(o.Timeout)/float64(o.Median)) / o.Sigma
	cut := float64(o.Median)*math.Exp(o.Sigma*o.Sigma/2)*below(z-o.Sigma) + float64(o.Timeout)*(1-below(z))
	return time.Duration(cut).Hours()
}
