package task

import (
	"hash/crc32"

	"stint/internal/fleet"
)

// The pure edit, for the fuzzer, and the write below it, for the race that no
// test can time.
var (
	Parse     = Format{}.Parse
	WithState = Format{}.withState
	Replace   = replace
	ErrMoved  = errMoved
)

// The cache's own encoding, for the fuzzers.
var (
	EncodeOutcome = encodeOutcome
	DecodeOutcome = Format{}.decodeOutcome
	EncodeCache   = encodeCache
	DecodeCache   = decodeCache
)

// WithStateIn is [WithState] of another format.
func WithStateIn(f Format, path string, data []byte, s fleet.TaskState) ([]byte, error) {
	return f.withState(path, data, s)
}

// CacheMagic is how a cache file begins.
const CacheMagic = cacheMagic

// WithHeader makes a whole cache file of what follows the header.
func WithHeader(body []byte) []byte {
	data := encodeCache("", nil)
	data = append(data[:len(cacheMagic)+crc32.Size], body...)
	sum := checksum(body)
	for i := range crc32.Size {
		data[len(cacheMagic)+i] = byte(sum >> (8 * i))
	}
	return data
}

// Retitle gives every task of a cache another title.
func Retitle(c Cache, dir, title string) {
	key := Folder{Dir: dir}.cacheKey()
	entries := c.load(key)
	for i, e := range entries {
		if t, _, err := (Format{}).decodeOutcome("/x.md", e.outcome); err == nil {
			t.Title = title
			entries[i].outcome = encodeOutcome(t, nil)
		}
	}
	c.save(key, entries)
}
