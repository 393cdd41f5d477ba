"""Settings of what runs beside the passes: a Prometheus server that is asked, the web server, the deploy supervisor."""

from pydantic import field_serializer

from buildeye.config.fields import Address, Count, Number, Section, counted, setting
from buildeye.config.secrets import masked


class Prometheus(Section):
    """The Prometheus server that knows how busy runner pools are, and what it is asked."""

    url: Address = setting(
        "",
        "an http(s) address without user name, password or token in it, or empty",
        "the server's address, without /api/v1; empty: not asked",
    )
    timeout_seconds: Number = counted(20.0, "seconds", 1, 600, "seconds one answer may take")
    waiting: str = setting(
        "sum by (name) (clamp_min(gha_assigned_jobs - gha_running_jobs, 0))",
        "a PromQL expression",
        "jobs that wait for a runner, one series a pool",
        min_length=1,
    )
    running: str = setting(
        "sum by (name) (gha_running_jobs)",
        "a PromQL expression",
        "jobs that a runner works on, one series a pool",
        min_length=1,
    )
    pool_label: str = setting(
        "name",
        "the name of a label, such as name",
        "the label of both answers that names the pool: what jobs write below runs-on",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
    )


class Serve(Section):
    """Where `build-eye serve` listens."""

    host: str = setting("127.0.0.1", "a host name or address of this machine", "the address to listen at", min_length=1)
    port: Count = setting(8790, "a port, 0 to 65535", "the port to listen at; 0 takes a free one", ge=0, le=65535)


class Ask(Section):
    """What one query of a person, an agent or a program may cost."""

    max_seconds: Count = counted(30, "seconds", 1, 3600, "seconds one query may take")
    max_memory_mib: Count = counted(2048, "MiB", 64, 1048576, "memory one query may use")
    max_rows: Count = counted(100_000, "rows", 1, 10_000_000, "rows one answer may have")
    max_result_mib: Count = counted(100, "MiB", 1, 65536, "size one answer may have")


class Webhooks(Section):
    """What the door for GitHub's webhooks lets in."""

    max_body_bytes: Count = counted(
        26_214_400, "bytes", 1024, 104_857_600, "the most a delivery may have; GitHub sends at most 25 MiB"
    )


class Deploy(Section):
    """Where the deploy supervisor keeps what it must know after it was killed."""

    journal: str = setting(
        "",
        "empty for deploy.sqlite below storage.data_dir, sqlite:///FILE, or postgresql://USER@HOST/DATABASE",
        "the journal of deployments: a file of this machine, or a PostgreSQL database that supervisors share",
        pattern=r"^(|sqlite:///.+|postgres(ql)?(\+pg8000)?://.+)$",
        repr=False,
    )
    directory: str = setting(
        "",
        "a folder, or empty for deploy below storage.data_dir",
        "folder of the runs of services: their logs, sockets and exit codes",
    )

    @field_serializer("journal")
    def _without_password(self, value: str) -> str:
        return masked(value)
