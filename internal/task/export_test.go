package task

import "hash/crc32"

// The pure edit, for the fuzzer, and the write below it, for the race that no
// test can time.
var (
	WithState = withState
	Replace   = replace
	ErrMoved  = errMoved
)

// The cache's own encoding, for the fuzzers.
var (
	EncodeOutcome = encodeOutcome
	DecodeOutcome = decodeOutcome
	EncodeCache   = encodeCache
	DecodeCache   = decodeCache
)

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
	entries := c.load(dir)
	for i, e := range entries {
		if t, _, err := decodeOutcome("/x.md", e.outcome); err == nil {
			t.Title = title
			entries[i].outcome = encodeOutcome(t, nil)
		}
	}
	c.save(dir, entries)
}
