"""A PostgreSQL of the tests' own: the Debian package's programs, a fresh folder, a unix socket."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

PACKAGED = Path("/usr/lib/postgresql")
STARTS_WITHIN = 60  # seconds, on a slow machine


def programs() -> Path | None:
    """The folder with initdb and postgres, the newest; None when PostgreSQL is not installed."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    return next((p for p in [*places, *sorted(PACKAGED.glob("*/bin"), reverse=True)] if (p / "initdb").exists()), None)


class Server:
    """A server in a folder of its own; `dsn` is the address of its database. Stopped and started at will."""

    def __init__(self, programs: Path, folder: Path, log: Path, who: dict[str, object]) -> None:
        self._programs = programs
        self._folder = folder
        self._log = log
        self._who = who
        self._process: subprocess.Popen[bytes] | None = None
        self.dsn = f"postgresql://postgres@/postgres?unix_sock={folder}/.s.PGSQL.5432"
        making: list[str | Path] = [
            "initdb",
            "-D",
            folder / "data",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        self._begin(making).wait(STARTS_WITHIN)

    def start(self) -> None:
        """Start it, unless it runs, and wait until it answers."""
        if self._process is None:
            starting: list[str | Path] = [
                "postgres",
                "-D",
                self._folder / "data",
                "-k",
                self._folder,
                "-c",
                "listen_addresses=",
            ]
            # no test asks what a power cut leaves
            self._process = self._begin([*starting, "-c", "fsync=off", "-c", "shared_buffers=16MB"])
            _wait(self.dsn, self._process)

    def stop(self) -> None:
        """Stop it: it ends the sessions of its clients."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _begin(self, command: "list[str | Path]") -> "subprocess.Popen[bytes]":
        env = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
        whole: list[str | Path] = [self._programs / command[0], *command[1:]]
        with self._log.open("ab") as log:
            return subprocess.Popen(whole, cwd=self._folder, env=env, stdout=log, stderr=log, **self._who)  # type: ignore[call-overload,no-any-return]


@contextmanager
def postgres_server(tmp_path: Path) -> Iterator[Server]:
    """A running server for as long as the block lasts. Skips the test without programs.

    Its log is in `tmp_path`. The server refuses to run as root and then runs as another user, who may not enter the
    folders of pytest, so its data has a short-lived folder of its own.
    """
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    who: dict[str, object] = {}
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if os.geteuid() == 0:
        user = _unprivileged()
        os.chown(folder, user.pw_uid, user.pw_gid)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    server = Server(bin_folder, folder, tmp_path / "postgres.log", who)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@contextmanager
def running_postgres(tmp_path: Path) -> Iterator[str]:
    """The address of the database of a server that runs for as long as the block lasts."""
    with postgres_server(tmp_path) as server:
        yield server.dsn


def fresh_database(dsn: str) -> str:
    """The address of a new, empty database of a running server."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(_driven(dsn), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return dsn.replace("@/postgres?", f"@/{name}?")


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("there is no user that PostgreSQL could run as")


def _driven(dsn: str) -> str:
    return dsn.replace("postgresql://", "postgresql+pg8000://", 1)


def _wait(dsn: str, server: "subprocess.Popen[bytes]") -> None:
    engine = sa.create_engine(_driven(dsn))
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            engine.connect().close()
            break
        except (sa.exc.DBAPIError, OSError):
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    engine.dispose()


def _end(server: "subprocess.Popen[bytes]") -> None:
    server.send_signal(signal.SIGINT)  # a fast shutdown
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)  # an immediate one; its children end too
        server.wait(30)
