# Sourced by the scripts: plain lines, times, errors that say what to do.
# shellcheck shell=bash
jobs=${STEPGAUGE_JOBS:-$(nproc)}

say() { printf '%s: %s\n' "${0##*/}" "$*"; }

# die CODE MESSAGE...
die() {
  local code=$1
  shift
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit "$code"
}

seconds_since() { printf '%d' $((SECONDS - $1)); }

# timed WHAT COMMAND...: says what, runs it with its output in a log, and shows the log's end when it fails.
timed() {
  local what=$1 started=$SECONDS log
  shift
  log=build/logs/$(printf '%s' "$what" | tr -cs 'a-zA-Z0-9' '_' | cut -c1-40).log
  mkdir -p build/logs
  say "$what ..."
  if ! "$@" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    die 1 "$what failed after $(seconds_since "$started") s; the whole output is in $log"
  fi
  say "$what: $(seconds_since "$started") s"
}
