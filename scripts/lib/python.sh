# Sourced by scripts/setup: which Python has Torch, and the .venv that is made where none has.
# shellcheck shell=bash
venv=$root/.venv
venv_stamp=$venv/.stepgauge-requirements

# facts PYTHON: sets torch_version and embed; false where it does not run.
facts() {
  local text
  text=$("$1" scripts/lib/python_facts.py 2>/dev/null) || return 1
  torch_version=$(sed -n 's/^torch //p' <<<"$text")
  embed=$(sed -n 's/^embed //p' <<<"$text")
}

venv_wanted() { sha256sum scripts/requirements.txt | cut -d' ' -f1; }

# A .venv made by hand counts once its packages are the pinned ones.
venv_complete() {
  [[ -x $venv/bin/python ]] || return 1
  if [[ -f $venv_stamp && $(<"$venv_stamp") == "$(venv_wanted)" ]]; then return 0; fi
  "$venv/bin/python" scripts/lib/pins.py scripts/requirements.txt >/dev/null 2>&1 || return 1
  venv_wanted >"$venv_stamp"
}

# Sets python (empty: a .venv has to be made), torch_version and embed.
choose_python() {
  python=""
  if [[ -n ${STEPGAUGE_PYTHON:-} ]]; then
    facts "$STEPGAUGE_PYTHON" || die 2 "STEPGAUGE_PYTHON=$STEPGAUGE_PYTHON does not run"
    [[ $torch_version == 2.* ]] || die 2 "STEPGAUGE_PYTHON=$STEPGAUGE_PYTHON has no Torch 2.x (found: $torch_version)"
    python=$(command -v "$STEPGAUGE_PYTHON")
    return
  fi
  if venv_complete && facts "$venv/bin/python" && [[ $torch_version == 2.* ]]; then
    python=$venv/bin/python
    return
  fi
  if command -v python3 >/dev/null && facts python3 && [[ $torch_version == 2.* ]]; then
    python=$(python3 -c 'import sys; print(sys.executable)')
    return
  fi
  torch_version=-
  facts /usr/bin/python3 || embed=no
}

make_venv() {
  local pip=("$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off)
  # Debian's own Python: it has a shared library to embed, another python3 on PATH may not.
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    timed "making .venv" /usr/bin/python3 -m venv --clear "$venv"
  fi
  timed "installing Python packages into .venv (Torch is 4.7 GB on disk)" "${pip[@]}" -r scripts/requirements.txt
  "$venv/bin/python" scripts/lib/pins.py scripts/requirements.txt >/dev/null ||
    die 1 "the packages in .venv are not those of scripts/requirements.txt: $("$venv/bin/python" scripts/lib/pins.py scripts/requirements.txt || true)"
  venv_wanted >"$venv_stamp"
  python=$venv/bin/python
  facts "$python" || die 1 "$python does not run; remove .venv and try again"
}
