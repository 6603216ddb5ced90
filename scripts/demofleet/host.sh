#!/usr/bin/env bash
# host.sh is what a host of the demo does: it fires every three seconds until it reads "stop", and waits for the last
# sessions. When its input ends it ends at once, and the host with all that runs on it, as when the power fails.
set -euo pipefail

# Waits for so many seconds, or for a word.
listen() {
  local status=0
  word=
  read -rt "$1" word || status=$?
  ((status != 1)) || exit 0
}

until [[ ${word:-} == stop ]]; do
  FOLDER/stint fanout >>"$HOME/fires.log" 2>&1 &
  listen 3
done
wait
while pgrep --uid "$UID" stint >/dev/null; do listen 0.2; done
