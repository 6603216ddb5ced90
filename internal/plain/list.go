package plain

import "slices"

// Each returns of's result for each thing of a list, in order; nil for an empty list.
func Each[T, U any](list []T, of func(T) U) (all []U) {
	all = slices.Grow(all, len(list))
	for _, thing := range list {
		all = append(all, of(thing))
	}
	return all
}

// Kept are those of a list that keep is true of, in order; nil where there is none.
func Kept[T any](list []T, keep func(T) bool) (kept []T) {
	for _, thing := range list {
		if keep(thing) {
			kept = append(kept, thing)
		}
	}
	return kept
}
