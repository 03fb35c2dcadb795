"""`windlass completion`: what a shell needs to complete commands, options and their choices.

The script holds everything: completing a word starts no process.
"""

from __future__ import annotations

import sys
from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.show.output import is_tty

Shell = Literal["bash", "zsh", "fish"]
INSTALL: Final[dict[Shell, str]] = {
    "bash": (
        "d=~/.local/share/bash-completion/completions; mkdir -p $d; "
        "windlass completion bash > $d/windlass"
    ),
    "zsh": 'windlass completion zsh > "${fpath[1]}/_windlass"',
    "fish": "windlass completion fish > ~/.config/fish/completions/windlass.fish",
}
_HOW: Final = "\n\n".join(
    ["Keep it where new shells find it, and do it again after an upgrade:", *INSTALL.values()]
)

app = App(
    name="completion",
    help="Write a script that completes commands in bash, zsh or fish.",
    help_epilogue=_HOW,
)


@app.default
def completion(shell: Annotated[Shell, Parameter(help="Which shell.")], /) -> None:
    """Write to standard output what the shell needs to complete nouns, verbs and options."""
    if is_tty():
        raise BadUsage(f"it is a file to be kept: {INSTALL[shell]}")
    from windlass.cli.app import build

    script = build().generate_completion(prog_name="windlass", shell=shell)
    # zsh loads the function of a file by the file's name.
    sys.stdout.write(script.replace("_cyclopts_windlass", "_windlass"))
