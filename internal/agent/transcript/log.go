package transcript

import "strings"

// LogGlob is the pattern (path/filepath.Match) of the files that hold an agent's own log
// of a session, by a pattern of its own: in it "~" at the beginning is the agent's home,
// and {session} the session. It is empty when the session is not known, or has a name
// that could mean other files: it was read from the agent's output.
func LogGlob(pattern, home, session string) string {
	if strings.Contains(pattern, "{session}") && (session == "" || strings.Trim(session, harmless) != "" || session[0] == '.') {
		return ""
	}
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		if home == "" {
			return ""
		}
		pattern = strings.TrimRight(home, "/") + "/" + rest
	}
	return strings.ReplaceAll(pattern, "{session}", session)
}

// harmless are the characters of the names that agents give their sessions.
const harmless = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-."
