# Sourced by scripts/setup: packages.txt -> what this machine lacks -> apt, or one message.
# shellcheck shell=bash

# Names, on stdout, the headers among its arguments that the compiler cannot find.
absent_headers() {
  local header dir flags=()
  command -v g++ >/dev/null || { printf '%s\n' "$@"; return; }
  local IFS=:
  for dir in $PATH ${CMAKE_PREFIX_PATH:-}; do # as find_package does: PREFIX/bin on PATH means PREFIX/include
    dir=${dir%/bin}
    if [[ -d $dir/include && $dir != /usr && $dir != "" ]]; then flags+=("-I$dir/include"); fi
  done
  unset IFS
  for header in "$@"; do
    printf '#if !__has_include(<%s>)\nabsent %s\n#endif\n' "$header" "$header"
  done | g++ -std=c++17 -x c++ -E -P "${flags[@]}" - 2>/dev/null | sed -n 's/^absent //p' | tr -d ' '
}

# Fills required_missing and optional_missing with package names.
find_missing() {
  local package need check absent
  local headers=()
  required_missing=()
  optional_missing=()
  while read -r package need check; do
    if [[ $check == header:* ]]; then headers+=("${check#header:}"); fi
  done < <(grep -v '^#' scripts/packages.txt)
  absent=$(absent_headers "${headers[@]}")
  while read -r package need check; do
    case $check in
      command:*) if command -v "${check#command:}" >/dev/null; then continue; fi ;;
      header:*) if ! grep -qxF "${check#header:}" <<<"$absent"; then continue; fi ;;
      venv) if [[ -n $python ]] || /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then continue; fi ;;
      embed) if [[ $embed == yes ]]; then continue; fi ;;
      *) die 1 "scripts/packages.txt: unknown check \"$check\" of $package" ;;
    esac
    # A Python that we did not make may come without headers: the worker then does without it.
    if [[ $need == embed ]]; then
      if [[ -z $python || $python == "$root"/.venv/* ]]; then need=required; else need=note; fi
    fi
    case $need in
      required) required_missing+=("$package") ;;
      optional) optional_missing+=("$package") ;;
      note) say "note: $python has no headers or no shared library, cells that embed Python are unsupported"; embed=yes ;;
      *) die 1 "scripts/packages.txt: unknown need \"$need\" of $package" ;;
    esac
  done < <(grep -v '^#' scripts/packages.txt)
}

apt_get() {
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo -n); fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 "$@"
}

can_install() {
  command -v apt-get >/dev/null || return 1
  ((EUID == 0)) || sudo -n true 2>/dev/null
}

# install_packages WITH_OPTIONAL(0|1)
install_packages() {
  local with_optional=$1 package
  find_missing
  if ((${#required_missing[@]} == 0)) && ((with_optional == 0 || ${#optional_missing[@]} == 0)); then return; fi
  if ! can_install; then
    if ((${#required_missing[@]})); then
      die 2 "missing, and there is no root here to install them. As root, run:
  apt-get install --no-install-recommends ${required_missing[*]}${optional_missing:+
optional: ${optional_missing[*]}}"
    fi
    say "note: optional packages are missing: ${optional_missing[*]}"
    return
  fi
  if ((${#required_missing[@]})); then
    timed "apt-get update" apt_get update
    timed "installing ${required_missing[*]}" apt install -y --no-install-recommends "${required_missing[@]}"
  elif ! apt_get update >/dev/null 2>&1; then
    say "note: no package index can be reached, going on without ${optional_missing[*]}"
    return
  fi
  for package in "${optional_missing[@]}"; do
    if apt_get install -y --no-install-recommends "$package" >/dev/null 2>&1; then
      say "installed $package (optional)"
    else
      say "note: could not install $package (optional)"
    fi
  done
  if [[ -z $python ]]; then facts /usr/bin/python3 || die 1 "/usr/bin/python3 does not run"; fi
  find_missing
  if ((${#required_missing[@]})); then
    die 1 "still missing after their installation: ${required_missing[*]} (scripts/packages.txt says how each is looked for)"
  fi
}
