# Sourced by ci/gate and ci/nightly.
# shellcheck shell=bash

# die CODE MESSAGE...
die() {
  local code=$1
  shift
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit "$code"
}

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Programs of the checkout in $1, by the command $2 called in it; a build that fails is measured by nobody: 3.
build_programs() {
  local source=$1 command=$2
  say "building $source"
  (cd "$source" && "$command") >&2 || die 3 "$source does not build"
  [[ -x $source/build/bin/stepgauge-worker ]] || die 3 "$source: its build left no build/bin/stepgauge-worker"
}

# Words for an exit code of stepgauge; nothing of what others wrote goes into them.
words_of() {
  case $1 in
    0) echo "nothing worse" ;;
    1) echo "REGRESSED" ;;
    2) echo "usage or config error" ;;
    3) echo "measurements failed" ;;
    4) echo "inconclusive" ;;
    5) echo "not comparable" ;;
    *) echo "ended by exit code $1" ;;
  esac
}

# summarise WHAT CODE FILE...: the files on the page of the job, where there is one, and one line in its list of errors.
summarise() {
  local what=$1 code=$2
  shift 2
  if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then cat -- "$@" >>"$GITHUB_STEP_SUMMARY"; fi
  if [[ -n ${GITHUB_ACTIONS:-} ]]; then
    if ((code == 0)); then echo "::notice title=$what::$(words_of "$code")"; else echo "::error title=$what::$(words_of "$code") (exit code $code)"; fi
  fi
  say "$what: $(words_of "$code") (exit code $code)"
}
