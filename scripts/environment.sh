# Sourced by run.sh and test.sh: a .venv that holds exactly the given requirements file.
# The marker is a hash of what was installed, so a second start installs nothing.
requirements="$1"
python="${PYTHON:-python3}"
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "error: Python 3.11 or newer is needed (set PYTHON to its name)." >&2
  exit 2
fi
wanted="$(cat "$requirements" requirements.txt constraints.txt | "$python" -c 'import hashlib,sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')"
marker=".venv/.installed-$(basename "$requirements")"
if [ ! -x .venv/bin/python ] || [ "$(cat "$marker" 2>/dev/null)" != "$wanted" ]; then
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  echo "Installing $requirements into .venv (about a minute, once) …"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements"
  echo "$wanted" > "$marker"
fi
