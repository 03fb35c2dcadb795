"""Check what the documentation promises: links lead somewhere, and named tests exist.

Every relative link of every Markdown file must lead to a file, and its `#part` to a heading there.
Every test named in docs/guarantees.md must be a test function below tests/.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_BY_TOOLS = {"node_modules", "build", "dist", "__pycache__"}

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_TEST = re.compile(r"(?:\b(tests/[\w/]+\.py)(?:::))?\b(test_\w+)\b(?!\.py|/)")


def problems(root: Path) -> list[str]:
    return [*broken_links(root), *missing_tests(root)]


def broken_links(root: Path) -> Iterator[str]:
    for page in pages(root):
        text = page.read_text()
        prose = _CODE.sub("", _FENCED.sub("", text))
        for link in _LINK.findall(prose):
            if not _ELSEWHERE.match(link) and (why := broken(page, link)):
                yield f"{page.relative_to(root)}: {link} {why}"


def broken(page: Path, link: str) -> str | None:
    """Why a relative link leads nowhere, or None."""
    path, _, part = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return "does not exist"
    if part and target.suffix == ".md" and part not in anchors(target.read_text()):
        return "has no such heading"
    return None


def missing_tests(root: Path) -> Iterator[str]:
    page = root / "docs" / "guarantees.md"
    if not page.is_file():
        yield "docs/guarantees.md does not exist"
        return
    named = _TEST.findall(page.read_text())
    if not named:
        yield "docs/guarantees.md names no test"
    known = tests(root / "tests")
    for file, name in named:
        files = known.get(name, set())
        if not files or (file and root / file not in files):
            yield f"docs/guarantees.md: there is no test {f'{file}::' if file else ''}{name}"


def tests(folder: Path) -> dict[str, set[Path]]:
    """Every test function, and the files that hold one of that name."""
    found: dict[str, set[Path]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, set()).add(path)
    return found


def anchors(text: str) -> set[str]:
    """The names under which a page's headings can be linked; a repeated one is numbered."""
    found: set[str] = set()
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def pages(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        # Hidden folders hold tools and history, not our pages.
        folders[:] = sorted(f for f in folders if f not in LEFT_BY_TOOLS and f[0] != ".")
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".md"))


if __name__ == "__main__":
    found = problems(ROOT)
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)
