"""The file of a backup: what stands behind the dump, and whether all of it is there.

A dump that `pg_dump --format custom` wrote by itself is good as well. It has no digest: whether it
is whole is found out by reading it through, and how much it holds by restoring it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

import msgspec

from windlass.compose.backup.contents import Contents
from windlass.embedded.client import ClientOrder, Program, client_program, running
from windlass.errors import WindlassError

# Counts bytes of the file as they are read or written.
OnBytes = Callable[[int], None]

_MAGIC: Final = b"PGDMP"
_FOOTER: Final = re.compile(rb"\nwindlass backup 1 ([0-9]{10}) {18}\n")
_FOOTER_BYTES: Final = 48
_MANIFEST_BYTES_MAX: Final = 1024 * 1024
_CHUNK_BYTES: Final = 1024 * 1024
# Of a listing or of one small table: a year of partitions is some ten thousand lines.
_OUTPUT_BYTES_MAX: Final = 64 * 1024 * 1024
_TABLE: Final = re.compile(r"^\d+; \d+ \d+ TABLE (?!DATA |ATTACH )(\S+) (\S+) ", re.MULTILINE)
_ROW: Final = re.compile(r"^(\d+)\t([^\t]+)\t([0-9a-f]{64})\t", re.MULTILINE)
# Other programs' files, by how they begin.
_OTHERS: Final = (
    (b"", "is empty"),
    (b"--\n-- PostgreSQL database", "is a dump in plain SQL; feed it to psql"),
    (b"\x1f\x8b", "is compressed by gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd; unpack it first"),
    (b"toc.dat\0", "is a dump in the tar format; feed it to pg_restore"),
)


class NotABackup(WindlassError):
    """This file cannot be restored."""

    code = "not_a_backup"

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{path} {why}")


class ProgramFailed(WindlassError):
    """A client program of PostgreSQL's did not do what it was asked to."""

    code = "program_failed"

    def __init__(self, program: str, exit_code: int, said: str) -> None:
        self.program, self.exit_code, self.said = program, exit_code, said
        how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with {exit_code}"
        super().__init__(f"{program} {how}" + (f":\n{said}" if said else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What stands behind the dump."""

    windlass: str  # the version that took it
    server: str  # the version of PostgreSQL that it is of
    program_major: int  # of the pg_dump that wrote it
    dump_bytes: int
    sha256: str  # of these
    contents: Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    path: Path
    bytes: int
    manifest: Manifest | None  # None: pg_dump wrote it, and not `windlass backup`
    program: Program  # the pg_restore that reads it
    migrations: dict[int, tuple[str, str]]  # applied to what it holds: name and digest, by number
    is_mixed: bool  # it holds other people's schemas, too
    grants: str  # the statements that give rights to other roles; "": there are none


def seal(file: IO[bytes], manifest: Manifest) -> None:
    """Append what it holds."""
    body = msgspec.json.encode(manifest)
    assert len(body) <= _MANIFEST_BYTES_MAX
    footer = b"\nwindlass backup 1 %010d%s\n" % (len(body), b" " * 18)
    assert len(footer) == _FOOTER_BYTES
    file.seek(0, os.SEEK_END)
    rest = memoryview(body + footer)
    while rest:  # unbuffered: a disk that fills may take a part of it
        rest = rest[file.write(rest) :]


def digest(file: IO[bytes], length: int, on_bytes: OnBytes) -> str:
    """The SHA-256 of its first `length` bytes; of fewer, if there are fewer."""
    file.seek(0)
    found, done = sha256(), 0
    while done < length and (chunk := file.read(min(_CHUNK_BYTES, length - done))):
        found.update(chunk)
        done += len(chunk)
        on_bytes(done)
    return found.hexdigest()


async def examine(path: Path, on_bytes: OnBytes = lambda _: None) -> Archive:
    """Read all of it, and refuse what could not be restored whole. Raises NotABackup."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            manifest = _manifest(path, file, size)
            if manifest is not None:
                found = await asyncio.to_thread(digest, file, manifest.dump_bytes, on_bytes)
                if found != manifest.sha256:
                    raise NotABackup(path, "is damaged: it is not what was written; take another")
    except OSError as trouble:
        raise NotABackup(path, f"cannot be read ({trouble.strerror})") from None
    made_by = manifest.program_major if manifest is not None else 0
    program = await client_program("pg_restore", server_major=made_by)
    listing = await _read(path, program, "--list")
    tables = _TABLE.findall(listing)
    schemas = {schema for schema, _ in tables}
    if ("windlass", "migration") not in tables:
        raise NotABackup(path, "is a dump of something else: it has no tables of Windlass")
    if manifest is None:
        await _read(path, program, "--file=/dev/null")
    only = ("--file=-", "--data-only", "--schema=windlass", "--table=migration")
    is_mixed = schemas != {"windlass"}
    ours = ["--schema=windlass"] if is_mixed else []
    rows = _ROW.findall(await _read(path, program, *only))
    return Archive(
        path=path,
        bytes=size,
        manifest=manifest,
        program=program,
        migrations={int(number): (name, digested) for number, name, digested in rows},
        is_mixed=is_mixed,
        grants=await _grants(path, program, ours) if " ACL " in listing else "",
    )


def _manifest(path: Path, file: IO[bytes], size: int) -> Manifest | None:
    head = file.read(len(_MAGIC))
    if head != _MAGIC:
        head += file.read(64)
        said = (
            why for begin, why in _OTHERS if head == begin or (begin and head.startswith(begin))
        )
        raise NotABackup(path, next(said, "is no backup of Windlass"))
    if size < _FOOTER_BYTES:
        raise NotABackup(path, "is cut off; take another")
    file.seek(size - _FOOTER_BYTES)
    footer = _FOOTER.fullmatch(file.read(_FOOTER_BYTES))
    if footer is None:
        return None
    length = min(int(footer[1]), _MANIFEST_BYTES_MAX, size - _FOOTER_BYTES)
    file.seek(size - _FOOTER_BYTES - length)
    try:
        manifest = msgspec.json.decode(file.read(length), type=Manifest)
    except msgspec.DecodeError:
        raise NotABackup(path, "is damaged: its last lines cannot be read") from None
    if manifest.dump_bytes != size - _FOOTER_BYTES - length:
        raise NotABackup(path, "is damaged: it has not the length that it says")
    return manifest


async def _grants(path: Path, program: Program, schema: list[str]) -> str:
    text = await _read(path, program, "--file=-", "--schema-only", *schema)
    return "\n".join(line for line in text.splitlines() if line.startswith("GRANT "))


async def _read(path: Path, program: Program, *arguments: str) -> str:
    """What pg_restore says of the file. Raises NotABackup."""
    order = ClientOrder(
        program=program, arguments=(*arguments, str(path)), stdout=asyncio.subprocess.PIPE
    )
    async with running(order) as reading:
        said = bytearray()
        while chunk := await reading.stdout.read(_CHUNK_BYTES):
            if len(said) < _OUTPUT_BYTES_MAX:
                said += chunk
        if await reading.wait():
            raise NotABackup(path, f"is cut off or damaged:\n{reading.said}")
    return said.decode(errors="replace")
