"""The last step between our process and one that must not outlive it, a server or a further node:
become who it runs as, then become it.

Run as a script by `child.py` in an interpreter of its own (`python -I -S launch.py ORDER`), never
imported: between fork and exec of a process with threads hardly anything is safe to do, while here
everything is. ORDER is JSON: argv, uid and gid (or null), umask (or null: ours), death_signal,
parent.
"""

import ctypes
import json
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    order = json.loads(sys.argv[1])
    if order["umask"] is not None:
        os.umask(order["umask"])
    forget_signal_settings()
    if order["uid"] is not None:
        os.setgroups([])
        os.setgid(order["gid"])
        os.setuid(order["uid"])
    die_with_parent(order["death_signal"], order["parent"])
    os.execv(order["argv"][0], order["argv"])  # noqa: S606 (no shell is what we want)


def forget_signal_settings() -> None:
    """What our process ignores or blocks (a shell's `&` ignores SIGINT) is not the server's."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python itself ignores these two
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def die_with_parent(death_signal: int, parent: int) -> None:
    """Ask the kernel to end us when our parent ends. Changing user would undo this: do it after."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone already")


if __name__ == "__main__":
    main()
