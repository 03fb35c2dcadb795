#!/usr/bin/env bash
# Make .venv hold exactly what a lock file names, plus this package in editable form.
# usage: requirements/setup.sh LOCK STAMP    (called by the Makefile when STAMP is missing)
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1 stamp=$2
python=${PYTHON:-python3}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Two `make` at once must not install over each other; the second finds the stamp and leaves.
mkdir -p .venv
if command -v flock >/dev/null; then
    exec 9>.venv/.setup.lock
    flock 9
    [ ! -e "$stamp" ] || exit 0
fi

command -v "$python" >/dev/null || die "$python not found; install Python 3.11 or newer, or set PYTHON=…"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$("$python" --version) is too old; Windlass needs 3.11 or newer (set PYTHON=…)"

# A virtualenv whose interpreter was upgraded away, or whose making was interrupted, is made anew.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        die "$python cannot make virtualenvs; on Debian or Ubuntu: apt install python3-venv"
    # All but the lock that we hold: a dead link to an interpreter would be left as it is.
    find .venv -mindepth 1 ! -name .setup.lock -delete
    say "making .venv with $("$python" --version)"
    "$python" -m venv .venv
fi

# Twice quiet: only errors. PIP_USER would send everything past the virtualenv.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
pip() { .venv/bin/python -m pip "$@"; }
say "installing $lock (a minute on a fresh machine)"
pip install -qq --require-hashes --requirement "$lock"
pip install -qq --no-deps --no-build-isolation --editable .

# Tests put these in front of Windlass. They come from the system; Windlass itself needs none.
missing=()
for program in haproxy pgbouncer nginx; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing ${missing[*]}, which tests/servers needs"
        # RUNLEVEL=1 keeps the packages from starting their services.
        { apt-get -qq update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes \
            --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
            say "that failed; tests/servers will say so too"
    else
        say "tests/servers needs ${missing[*]}; on Debian or Ubuntu: apt install ${missing[*]}"
    fi
fi

rm -f "${stamp%-*}"-*
: >"$stamp"
say "done: .venv/bin/windlass"
