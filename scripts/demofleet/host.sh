#!/usr/bin/env bash
# host.sh is a host of the demo: the first process of its namespaces, with which all others end, as when the power
# fails. It fires every three seconds until FOLDER/stop is there.
set -euo pipefail

hostname "$DEMO_HOST"
while [[ ! -e FOLDER/stop ]]; do
  FOLDER/stint fanout --exec >>"$HOME/fires.log" 2>&1 &
  sleep 3
done
wait
while pgrep --uid "$UID" stint >/dev/null; do sleep 0.2; done
