"""TLS to PostgreSQL and to Redis: who must prove what, and what is said when he cannot."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from structlog.testing import capture_logs

from tests.faults.job_objects import task
from tests.faults.real_cluster import open_cluster
from tests.ports import free_port
from tests.servers.tls import Authority, plain_before, tls_before
from tests.until import until
from windlass.config import load_settings
from windlass.embedded.valkey import EmbeddedValkey
from windlass.errors import Unavailable, WindlassError
from windlass.fastlane.connect import TROUBLE, client_of, close_client
from windlass.fastlane.lane import FastLane
from windlass.store.address import Address, NotTrusted, tls_of
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.telemetry.outage import REDIS, reason_text

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def socket_of(database_url: str) -> str:
    asked = parse_qs(urlsplit(database_url).query)
    return f"{asked['host'][0]}/.s.PGSQL.{asked['port'][0]}"


def over_tcp(database_url: str, port: int, query: str, *, host: str = "localhost") -> str:
    parts = urlsplit(database_url)
    user = parts.netloc.rpartition("@")[0]
    return f"postgresql://{user}@{host}:{port}{parts.path}?{query}"


@pytest.fixture
async def encrypted(database_url: str, authority: Authority) -> AsyncIterator[Callable[..., str]]:
    """The database's URL by way of a server that is called localhost."""
    context = authority.server("localhost")
    async with tls_before(socket_of(database_url), context, is_postgresql=True) as port:
        yield lambda query, **at: over_tcp(database_url, port, query, **at)


# -- PostgreSQL --------------------------------------------------------------------------------


async def test_postgresql_is_reached_by_tls_and_must_prove_its_name(
    encrypted: Callable[..., str], authority: Authority
) -> None:
    connection = await Address(
        encrypted(f"sslmode=verify-full&sslrootcert={authority.path}")
    ).connect()
    assert (tls_of(connection) or "").startswith("TLSv1.3 TLS_")
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()


async def test_a_socket_of_the_machine_is_not_encrypted(database_url: str) -> None:
    connection = await Address(database_url).connect()
    assert tls_of(connection) is None
    await connection.close()


REFUSED: Final = {
    "a name that the certificate does not have": (
        "sslmode=verify-full&sslrootcert={ours}",
        "127.0.0.1",
        "certificate is not believed: IP address mismatch",
    ),
    "an authority that we do not know": (
        "sslmode=verify-full&sslrootcert={other}",
        "localhost",
        "certificate is not believed: unable to get local issuer certificate",
    ),
    "the same without a name": (
        "sslmode=verify-ca&sslrootcert={other}",
        "localhost",
        "certificate is not believed: unable to get local issuer certificate",
    ),
    "those whom the machine trusts": (
        "sslmode=verify-full&sslrootcert=system",
        "localhost",
        "certificate is not believed",
    ),
    "a file that is not there": (
        "sslmode=verify-full&sslrootcert=/nowhere/ca.crt",
        "localhost",
        "sslrootcert of the database URL names /nowhere/ca.crt, which cannot be read",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_postgresql_that_cannot_prove_who_it_is_is_refused_in_a_sentence(
    encrypted: Callable[..., str], authority: Authority, tmp_path: Path, case: str
) -> None:
    query, host, said = REFUSED[case]
    other = Authority(tmp_path, "other")
    url = encrypted(query.format(ours=authority.path, other=other.path), host=host)
    with pytest.raises(NotTrusted, match=said):
        await Address(url).connect()
    with pytest.raises(Unavailable, match=said):
        await migrate(url)
    with pytest.raises(Unavailable, match=said):
        await Database(url).open()


async def test_of_several_hosts_each_says_why_it_is_not_believed(
    encrypted: Callable[..., str], tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")
    url = encrypted(f"sslmode=verify-full&sslrootcert={other.path}")
    host = urlsplit(url).netloc.rpartition("@")[2]
    with pytest.raises(Unavailable, match=rf"{host}: its certificate.*; {host}: its certificate"):
        await Database(url.replace(host, f"{host},{host}")).open()


async def test_a_certificate_whose_time_is_over_is_refused(
    database_url: str, authority: Authority
) -> None:
    late = authority.server("localhost", days=-1)
    async with tls_before(socket_of(database_url), late, is_postgresql=True) as port:
        query = f"sslmode=verify-full&sslrootcert={authority.path}"
        with pytest.raises(NotTrusted, match="certificate has expired"):
            await Address(over_tcp(database_url, port, query)).connect()


async def test_postgresql_that_speaks_no_tls_is_refused_where_it_is_asked_for(
    database_url: str, authority: Authority
) -> None:
    # PostgreSQL itself answers that it has no TLS.
    async with plain_before(socket_of(database_url)) as port:
        for mode in ("require", "verify-ca", "verify-full"):
            query = f"sslmode={mode}&sslrootcert={authority.path}"
            said = f"does not speak TLS, and sslmode={mode} asks for it"
            with pytest.raises(NotTrusted, match=said):
                await Address(over_tcp(database_url, port, query)).connect()
        for query in ("sslmode=prefer", "sslmode=disable", ""):
            connection = await Address(over_tcp(database_url, port, query)).connect()
            assert tls_of(connection) is None
            await connection.close()


async def test_a_certificate_of_ours_is_shown_where_one_is_asked_for(
    database_url: str, authority: Authority
) -> None:
    context = authority.server("localhost", asks_back=True)
    certificate, key = authority.issue("windlass")
    async with tls_before(socket_of(database_url), context, is_postgresql=True) as port:
        query = f"sslmode=verify-full&sslrootcert={authority.path}"
        with pytest.raises(OSError, match=r"does it ask for a certificate of ours"):
            await Address(over_tcp(database_url, port, query)).connect()
        query += f"&sslcert={certificate}&sslkey={key}"
        connection = await Address(over_tcp(database_url, port, query)).connect()
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


@pytest.mark.parametrize("query", ["sslmode=strict", "sslmode=verify_full"])
def test_a_mode_that_there_is_not_is_told_before_anything_starts(query: str) -> None:
    with pytest.raises(WindlassError, match=r"disable\|allow\|prefer\|require\|verify-ca"):
        settings_of(database_url=f"postgresql://db/windlass?{query}")


def settings_of(**given: object) -> object:
    return load_settings(given, {}, Path("/")).settings


# -- Redis -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def valkey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedValkey]:
    folder = tmp_path_factory.mktemp("valkey")
    folder.chmod(0o755)
    server = EmbeddedValkey(folder)
    await server.start()
    yield server
    await server.stop(at_once=True)


def valkey_socket(server: EmbeddedValkey) -> str:
    return unquote(urlsplit(server.url()).path)


def tls_url(server: EmbeddedValkey, port: int, query: str, *, host: str = "localhost") -> str:
    user = urlsplit(server.url()).netloc.rpartition("@")[0]
    return f"rediss://{user}@{host}:{port}/0?{query}"


async def ping(url: str) -> None:
    client = client_of(url)
    try:
        await client.ping()
    finally:
        await close_client(client)


async def test_redis_is_reached_by_tls_and_must_prove_its_name(
    valkey: EmbeddedValkey, authority: Authority
) -> None:
    async with tls_before(valkey_socket(valkey), authority.server("localhost")) as port:
        await ping(tls_url(valkey, port, f"ssl_ca_certs={authority.path}"))
        lane = FastLane(tls_url(valkey, port, f"ssl_ca_certs={authority.path}"))
        await lane.open()
        await until(lambda: lane.is_up, what="the lane is up")
        await lane.close()


@pytest.mark.parametrize(
    ("authority_name", "host", "said"),
    [
        ("authority", "127.0.0.1", "its certificate is not believed: IP address mismatch"),
        ("other", "localhost", "its certificate is not believed: unable to get local issuer"),
    ],
)
async def test_redis_that_cannot_prove_who_it_is_is_refused_in_a_sentence(
    valkey: EmbeddedValkey,
    authority: Authority,
    tmp_path: Path,
    authority_name: str,
    host: str,
    said: str,
) -> None:
    known = {"authority": authority, "other": Authority(tmp_path, "other")}[authority_name]
    async with tls_before(valkey_socket(valkey), authority.server("localhost")) as port:
        url = tls_url(valkey, port, f"ssl_ca_certs={known.path}", host=host)
        await is_refused(url, said)
        cluster = url.replace("rediss://", "rediss+cluster://").replace("/0?", "?")
        with pytest.raises(TROUBLE) as refused:
            await ping(cluster)
        assert "certificate" in reason_text(refused.value).lower()


async def is_refused(url: str, said: str) -> None:
    REDIS.answered("")
    with capture_logs() as logs:
        lane = FastLane(url)
        await lane.open()
        await until(lambda: any(one["event"] == "redis_away" for one in logs), what="it is said")
        await lane.close()
        assert not lane.is_up
    [entry] = [one for one in logs if one["event"] == "redis_away"]
    assert entry["reason"].startswith(said), entry


async def test_redis_that_speaks_no_tls_is_refused(
    valkey: EmbeddedValkey, authority: Authority
) -> None:
    async with plain_before(valkey_socket(valkey)) as port:
        url = tls_url(valkey, port, f"ssl_ca_certs={authority.path}")
        await is_refused(url, "no answer in time; does it speak TLS, as rediss:// asks for?")


async def test_a_certificate_of_ours_is_shown_to_redis(
    valkey: EmbeddedValkey, authority: Authority
) -> None:
    context = authority.server("localhost", asks_back=True)
    certificate, key = authority.issue("windlass")
    async with tls_before(valkey_socket(valkey), context) as port:
        query = f"ssl_ca_certs={authority.path}"
        with pytest.raises(Exception, match=r"(?i)closed|reset|certificate"):
            await ping(tls_url(valkey, port, query))
        await ping(tls_url(valkey, port, f"{query}&ssl_certfile={certificate}&ssl_keyfile={key}"))


@pytest.mark.parametrize("scheme", ["rediss+sentinel", "rediss+cluster"])
async def test_sentinels_and_clusters_are_given_the_same_words(
    scheme: str, authority: Authority
) -> None:
    certificate, key = authority.issue("windlass")
    query = (
        f"ssl_ca_certs={authority.path}&ssl_certfile={certificate}&ssl_keyfile={key}"
        "&ssl_cert_reqs=required&ssl_check_hostname=true"
    )
    client: Any = client_of(
        f"{scheme}://one:1,two:2/" + ("s/0?" if "sent" in scheme else "?") + query
    )
    if scheme == "rediss+cluster":
        given = client.connection_kwargs
    else:
        given = client.connection_pool.connection_kwargs
        sentinels = client.connection_pool.sentinel_manager.sentinels
        assert sentinels[0].connection_pool.connection_kwargs["ssl_ca_certs"] == str(authority.path)
    assert given["ssl_ca_certs"] == str(authority.path)
    assert given["ssl_certfile"] == str(certificate)
    assert given["ssl_check_hostname"] is True
    await close_client(client)


@pytest.mark.parametrize(
    "url",
    [
        "redis://h/0?ssl_ca_certs=/ca",  # without TLS it would mean nothing
        "rediss://h/0?ssl_ca_cert=/ca",  # mistyped
        "rediss://h/0?ssl_check_hostname=no",
        "rediss+cluster://h?ssl_cert_reqs=never",
    ],
)
def test_words_of_tls_that_mean_nothing_are_told_before_anything_starts(url: str) -> None:
    with pytest.raises(WindlassError, match=r"rediss://… with TLS"):
        settings_of(redis_url=url)


# -- both --------------------------------------------------------------------------------------


async def test_a_node_works_by_tls_alone_and_the_doctor_says_so(
    database_url: str, valkey: EmbeddedValkey, authority: Authority, tmp_path: Path
) -> None:
    context = authority.server("localhost")
    async with (
        tls_before(socket_of(database_url), context, is_postgresql=True) as first,
        tls_before(valkey_socket(valkey), context) as second,
    ):
        url = over_tcp(database_url, first, f"sslmode=verify-full&sslrootcert={authority.path}")
        redis_url = tls_url(valkey, second, f"ssl_ca_certs={authority.path}")
        async with open_cluster(url, redis_url, tmp_path) as cluster:
            node = await cluster.start_node(WINDLASS_ROLES="worker,leader")
            await cluster.submit([task("note", f"t{n}") for n in range(5)])
            await cluster.until_ended()
            await until(lambda: "fastlane_up" in node.log, what="its lane is up")
        told = await asyncio.to_thread(doctor, url, redis_url)
        assert told.returncode == 0, told.stderr
        assert re.search(r"PostgreSQL: encrypted with TLSv1\.3 \S+$", told.stdout, re.MULTILINE)
        assert "Redis: encrypted, as the user default" in told.stdout
        loose = await asyncio.to_thread(
            doctor,
            over_tcp(database_url, first, "sslmode=require"),
            tls_url(valkey, second, "ssl_cert_reqs=none&ssl_check_hostname=false"),
        )
        assert "who answers is not checked: sslmode=verify-full does" in loose.stdout
        assert "Redis: encrypted; who answers is not checked" in loose.stdout
    async with plain_before(socket_of(database_url)) as plain:
        url = over_tcp(database_url, plain, "sslmode=prefer")
        told = await asyncio.to_thread(doctor, url, f"redis://127.0.0.1:{free_port()}")
        assert "by a socket" in told.stdout or "PostgreSQL: not encrypted" in told.stdout
        assert "does not answer (connection refused)" in told.stdout


def doctor(database_url: str, redis_url: str) -> subprocess.CompletedProcess[str]:
    ours = {name: text for name, text in os.environ.items() if not name.startswith("WINDLASS_")}
    return subprocess.run(
        [sys.executable, "-m", "windlass", "doctor"],
        env={**ours, "WINDLASS_DATABASE_URL": database_url, "WINDLASS_REDIS_URL": redis_url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
