#!/usr/bin/env bash
# Make .venv hold what a lock file names, plus this checkout.
# usage: requirements/setup.sh run|dev|bench STAMP   (called by the Makefile when STAMP is missing)
#
# `run` is what `make up` waits for, so it is quick: no pip of its own in .venv, no compiling ahead
# of what may never be imported, no build of the package. `dev` and `bench` add the rest to it.
# docs/adr/0046-a-client-is-small-and-a-set-up-is-short.md has the figures.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$1 stamp=$2
lock=requirements/$wanted.lock
python=${PYTHON:-python3}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Runs a command that says nothing unless it fails; then what it said is shown and explained.
try() {
    local said
    said=$("$@" 2>&1) && return
    case $said in
        *'No space left on device'* | *'Disk quota exceeded'*)
            die "the disk is full: this takes up to 900 MB below $PWD and, for a while, some" \
                "in ${TMPDIR:-/tmp}; make room and run make again" ;;
        *'Permission denied'* | *'Read-only file system'*)
            printf '%s\n' "$said" >&2
            die "cannot write below $PWD/.venv; give it to $(id -un), or use a checkout of your own" ;;
        *'No matching distribution'* | *'Could not find a version'*)
            printf '%s\n' "$said" >&2
            die "pip cannot find what $lock names; is the package index reachable, and is" \
                "$("$python" --version) on $(uname -sm) one it has packages for?" ;;
        *)
            printf '%s\n' "$said" >&2
            die "that failed: $*" ;;
    esac
}

command -v "$python" >/dev/null || die "$python not found; install Python 3.11 or newer, or set PYTHON=…"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$("$python" --version) is too old; Windlass needs 3.11 or newer (set PYTHON=…)"

# Two `make` at once must not install over each other; the second finds the stamp and leaves.
mkdir -p .venv 2>/dev/null && [ -w .venv ] ||
    die "cannot write in $PWD; give it to $(id -un), or use a checkout of your own"
if command -v flock >/dev/null; then
    exec 9>.venv/.setup.lock
    flock 9
    [ ! -e "$stamp" ] || exit 0
fi

# The pip of the interpreter can install into .venv; where it has none, .venv gets one.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
if "$python" -m pip --python "$(command -v "$python")" --version >/dev/null 2>&1; then
    needs=venv bare=--without-pip
    pip() { "$python" -m pip --python .venv/bin/python "$@"; }
else
    needs=venv,ensurepip bare=
    pip() { .venv/bin/python -m pip "$@"; }
fi

# A virtualenv whose interpreter was upgraded away, or whose making was interrupted, is made anew.
if ! .venv/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null ||
    ! pip --version >/dev/null 2>&1; then
    "$python" -c "import $needs" 2>/dev/null ||
        die "$python cannot make virtualenvs; on Debian or Ubuntu: apt install python3-venv"
    # All but the lock that we hold: a dead link to an interpreter would be left as it is.
    find .venv -mindepth 1 ! -name .setup.lock -delete
    say "making .venv with $("$python" --version)"
    try "$python" -m venv $bare .venv
fi

# Twice quiet: only errors.
say "installing $lock"
compile=--compile
[ "$wanted" != run ] || compile=--no-compile  # the first start compiles what it imports
try pip install -qq $compile --require-hashes --requirement "$lock"
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
link=$site/windlass-checkout.pth

if [ "$wanted" = run ]; then
    # The checkout as it is: a line that Python reads at its start, and the command. To the shell its
    # second line starts Python, to Python it is text: the way to .venv may have spaces or be long.
    printf '%s\n' "$PWD/src" >"$link"
    cat >.venv/bin/windlass <<END
#!/bin/sh
'''exec' "$PWD/.venv/bin/python" "\$0" "\$@"
' '''
from windlass.cli import main

main()
END
    chmod +x .venv/bin/windlass
else
    rm -f "$link"
    # For whoever adds a package by hand.
    .venv/bin/python -m pip --version >/dev/null 2>&1 ||
        .venv/bin/python -m ensurepip --default-pip >/dev/null 2>&1 || true
    try pip install -qq --no-deps --no-build-isolation --editable .

    # Tests put these in front of Windlass. They come from the system; Windlass itself needs none.
    missing=()
    for program in haproxy pgbouncer nginx; do
        PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || missing+=("$program")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            say "installing ${missing[*]}, which tests/servers needs"
            # RUNLEVEL=1 keeps the packages from starting their services.
            { apt-get -qq update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq install \
                --yes --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
                say "that failed; tests/servers will say so too"
        else
            say "tests/servers needs ${missing[*]}; on Debian or Ubuntu: apt install ${missing[*]}"
        fi
    fi
fi

rm -f "${stamp%-*}"-*
: >"$stamp"
say "done: .venv/bin/windlass"
