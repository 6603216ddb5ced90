package trust

import (
	"fmt"
	"strings"
)

// mostLines bounds the lines that are compared one by one; longer texts are shown whole.
const mostLines = 2000

// Diff is how a content became another, in lines that begin with "-" or "+", or with a blank for the two
// around them. A program is one line, with its size and its sum.
func Diff(before, after Content) string {
	a, b := before.lines(), after.lines()
	// common[i][j] is how many lines the rests from i and j have in common, in their order.
	var common [][]int
	if len(a) <= mostLines && len(b) <= mostLines {
		common = make([][]int, len(a)+1)
		for i := range common {
			common[i] = make([]int, len(b)+1)
		}
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
		case common != nil && i < len(a) && j < len(b) && a[i] == b[j] && common[i][j] == common[i+1][j+1]+1:
			lines = append(lines, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (common == nil || j == len(b) || common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "-"+a[i])
			i++
		default:
			lines = append(lines, "+"+b[j])
			j++
		}
	}
	return excerpt(lines)
}

// lines are a content as a person reads it. A NUL is shown as \0: shells run a script that has one.
func (c Content) lines() []string {
	switch {
	case c.program() && c.Size == 0:
		return []string{"a program that was not kept, SHA-256 " + c.Sum + "\n"}
	case c.program():
		return []string{fmt.Sprintf("an ELF program of %d bytes, SHA-256 %s\n", c.Size, c.Sum)}
	}
	return strings.SplitAfter(strings.ReplaceAll(string(c.Text), "\x00", `\0`), "\n")
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
