package trust

import "strings"

// mostLines bounds the lines that are compared one by one; longer texts are shown whole.
const mostLines = 2000

// Diff is how a text became another, in lines that begin with "-" or "+", or with a blank for the two around
// them. A text with a NUL is a program's, and is not shown.
func Diff(before, after string) string {
	if strings.ContainsRune(before+after, 0) {
		return "  (not text)\n"
	}
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	// common[i][j] is how many lines the rests from i and j have in common, in their order.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	if len(a) <= mostLines && len(b) <= mostLines {
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
					common[i][j] = common[i+1][j+1] + 1
				}
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && common[i][j] == common[i+1][j+1]+1:
			lines = append(lines, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "-"+a[i])
			i++
		default:
			lines = append(lines, "+"+b[j])
			j++
		}
	}
	return excerpt(lines)
}

// excerpt leaves out what is far from a change.
func excerpt(lines []string) string {
	const around = 2
	var out strings.Builder
	for i, line := range lines {
		near := false
		for k := max(0, i-around); k < min(len(lines), i+around+1); k++ {
			near = near || lines[k][0] != ' '
		}
		if near && len(line) > 1 {
			out.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return out.String()
}
