# Sourced by scripts/test: single checks, ctest runs, and the count at the end.
# shellcheck shell=bash
passed=0
failed=0
tests_run=0
failures=()

# check NAME FUNCTION: counts as one test. A function that returns 77 was skipped.
check() {
  local name=$1 code=0
  "$2" >build/logs/check.log 2>&1 || code=$?
  case $code in
    0) passed=$((passed + 1)); say "$name: passed" ;;
    77) say "$name: skipped, $(tail -n 1 build/logs/check.log)" ;;
    *) failed=$((failed + 1)); failures+=("$name"); tail -n 40 build/logs/check.log; say "$name: FAILED" ;;
  esac
}

# Ours, tracked or not yet.
own_files() {
  local file
  git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" |
    while read -r file; do if [[ -f $file ]]; then printf '%s\n' "$file"; fi; done
}

# Another version of clang-format than the one the code was formatted with lays some lines out differently; that is no defect.
check_format() {
  local version sources
  command -v clang-format >/dev/null || { echo "clang-format is not installed"; return 77; }
  version=$(clang-format --version | sed -nE 's/.*version ([0-9]+).*/\1/p')
  mapfile -t sources < <(own_files '*.cpp' '*.hpp')
  ((${#sources[@]})) || { echo "git lists no source file here"; return 1; }
  if clang-format --dry-run -Werror "${sources[@]}"; then return 0; fi
  if [[ $version != 14 ]]; then echo "clang-format $version differs from 14, which the code was formatted with"; return 77; fi
  echo "format with: clang-format -i FILE"
  return 1
}

check_shell() {
  local file programs=()
  while read -r file; do
    if head -n 1 "$file" | grep -qE '^#!.*\b(ba)?sh\b'; then programs+=("$file"); elif [[ $file != *.sh ]]; then continue; fi
    bash -n "$file" || return 1
  done < <(own_files scripts ci .ci)
  ((${#programs[@]})) || { echo "git lists no shell script here"; return 1; }
  if command -v shellcheck >/dev/null; then shellcheck -x "${programs[@]}"; fi # follows what they source
}

check_python() {
  local sources
  mapfile -t sources < <(own_files '*.py')
  "$(<build/python)" - "${sources[@]}" <<'PY'
import sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as source:
        compile(source.read(), path, "exec")
PY
}

check_tidy() {
  local sources
  command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; return 77; }
  mapfile -t sources < <(own_files 'harness/*.cpp' 'workloads/*.cpp' | grep -v '^harness/worker/\(cuda\|python\)/')
  # Each file by itself, and without the precompiled headers that g++ makes.
  cmake --preset default -B build/tidy -DSTEPGAUGE_PYTHON="$(<build/python)" -DSTEPGAUGE_COMPILED_TOGETHER=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON || return 1
  printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/tidy
}

# run_ctest PRESET [-R REGEX]: adds the counts of its JUnit file; no test, or no readable file, is a failure.
run_ctest() {
  local preset=$1 junit=$root/build/logs/ctest.$1.xml code=0 counts started=$SECONDS
  shift
  rm -f "$junit"
  say "ctest --preset $preset $*"
  ctest --preset "$preset" --output-junit "$junit" --parallel "$jobs" "$@" || code=$?
  if ! counts=$("$(<build/python)" scripts/lib/junit_counts.py "$junit"); then
    # Two presets share the tests of a whole run, and a regular expression may match nothing in one of them.
    if (($#)) && [[ $preset == once || $preset == asan ]]; then say "ctest $preset: no test matches"; return; fi
    failed=$((failed + 1))
    failures+=("ctest $preset: no test ran")
    return
  fi
  local ok bad skipped names
  read -r ok bad skipped names <<<"$counts"
  passed=$((passed + ok))
  failed=$((failed + bad))
  tests_run=$((tests_run + ok + bad))
  if [[ -n $names ]]; then failures+=("$preset: $names"); fi
  if ((code != 0 && bad == 0)); then
    failed=$((failed + 1))
    failures+=("ctest $preset: exit code $code")
  fi
  say "ctest $preset: $ok passed, $bad failed, $skipped skipped in $((SECONDS - started)) s"
}

close_with_count() {
  local item
  for item in "${failures[@]}"; do say "FAILED $item"; done
  if ((tests_run == 0)); then
    say "no test ran"
    failed=$((failed > 0 ? failed : 1))
  fi
  say "$SECONDS s"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
