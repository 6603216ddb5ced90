package machine_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"stint/internal/machine"
	"stint/internal/testkit/must"
)

// tree is a /proc with these files.
func tree(files map[string]string) fstest.MapFS {
	t := fstest.MapFS{}
	for name, text := range files {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

func busy() map[string]string {
	return map[string]string{
		"pressure/memory": "some avg10=1.12 avg60=1.55 avg300=3.97 total=3\nfull avg10=0.02 avg60=0.36 avg300=0.68 total=1\n",
		"loadavg":         "3.50 4.32 5.05 5/132 28444\n",
		"stat":            "cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5" + strings.Repeat(" 0", 100_000) + "\nctxt 4\n",
		"meminfo":         "MemTotal:       24684096 kB\nMemFree:  1 kB\nMemAvailable:   24128980 kB\nHugePages_Total:       0\n",
	}
}

// unknown is a reading of which no figure is known.
const unknown = `{"MemoryPressure":null,"MemoryAvailable":null,"MemoryTotal":null}`

// said is a reading as JSON.
func said(t *testing.T, r machine.Pressure) string {
	t.Helper()
	text := must.Get(json.Marshal(r))(t)
	return string(text)
}

func TestReadPressure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change map[string]string // a file's text; "-": there is none
		want   string
	}{
		{"all", nil, `{"MemoryPressure":1.12,"MemoryAvailable":24708075520,"MemoryTotal":25276514304}`},
		{
			"no pressure",
			map[string]string{"pressure/memory": "-"},
			`{"MemoryPressure":null,"MemoryAvailable":24708075520,"MemoryTotal":25276514304}`,
		},
		{"no processors", map[string]string{"pressure/memory": "\n\n", "stat": "-", "meminfo": "-"}, unknown},
		{"no load", map[string]string{"pressure/memory": "some avg60=3", "loadavg": "-", "meminfo": ""}, unknown},
		{"only full", map[string]string{"pressure/memory": "some\nfull avg10=1\n", "loadavg": "-", "meminfo": ""}, unknown},
		{"not a number", map[string]string{"pressure/memory": "some avg10=NaN", "loadavg": "NaN 1 1", "meminfo": "MemTotal: x kB\n"}, unknown},
		{"too much", map[string]string{"pressure/memory": "some avg10=101", "loadavg": "-", "meminfo": ""}, unknown},
		{"nonsense", map[string]string{
			"pressure/memory": "some avg10=-1",
			"loadavg":         "+Inf 1 1", "stat": "cpu0\n", "meminfo": "MemAvailable: -1 kB\nMemTotal: 9223372036854775807 kB\nMemTotal\n",
		}, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := busy()
			for name, text := range test.change {
				files[name] = text
				if text == "-" {
					delete(files, name)
				}
			}
			must.Equal(t, "reading", said(t, machine.ReadPressure(tree(files))), test.want)
		})
	}
}

func TestReadOfNothing(t *testing.T) {
	t.Parallel()
	if got := said(t, machine.ReadPressure(os.DirFS(t.TempDir()))); got != unknown {
		t.Errorf("got %s, want nothing known", got)
	}
}

// TestPressureOfThisMachine finds what every Linux has.
func TestPressureOfThisMachine(t *testing.T) {
	t.Parallel()
	r := machine.ReadPressure(os.DirFS("/proc"))
	if r.MemoryAvailable == nil || r.MemoryTotal == nil || *r.MemoryAvailable > *r.MemoryTotal {
		t.Errorf("got %s, want load and memory", said(t, r))
	}
}

func FuzzReadPressure(f *testing.F) {
	for _, text := range busy() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := busy()
		for name := range files {
			files[name] = text
		}
		said(t, machine.ReadPressure(tree(files))) // It refuses infinities and NaN.
	})
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	reading := func(memory float64, available int64) machine.Pressure {
		total := int64(16 << 30)
		return machine.Pressure{MemoryPressure: &memory, MemoryAvailable: &available, MemoryTotal: &total}
	}
	unsized := reading(0, 512)
	unsized.MemoryTotal = nil
	small := reading(0, 127<<20)
	*small.MemoryTotal = 512 << 20
	for _, test := range []struct {
		name string
		r    machine.Pressure
		want string
	}{
		{"at every limit", reading(20, 1<<30), ""},
		{"pressure", reading(20.5, 8<<30), "memory pressure: 20.5 % of the last ten seconds were lost to waiting for it, above the limit of 20 %"},
		{"memory", reading(0, 300<<20), "memory: 300.0 MiB available of 16.0 GiB, and 1.0 GiB must be left"},
		{"memory first", reading(99, 0), "memory: 0 B available of 16.0 GiB, and 1.0 GiB must be left"},
		{"a small machine", small, "memory: 127.0 MiB available of 512.0 MiB, and 128.0 MiB must be left"},
		{"no total", unsized, "memory: 512 B available, and 1.0 GiB must be left"},
		{"nothing known", machine.Pressure{}, ""},
		{"a machine at work", machine.ReadPressure(tree(busy())), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.r.Refuse(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
