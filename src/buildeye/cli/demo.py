"""`build-eye demo`: the main job against a simulated GitHub with three weeks of past."""

import json
import os
from pathlib import Path

import typer


def demo(
    folder: Path = typer.Option(Path("demo"), "--folder", help="Where reports, warehouse and archive of the demo go."),
    seed: int = typer.Option(7, help="Another seed is another past."),
) -> None:
    """Run the main job against a simulated GitHub; nothing leaves this machine.

    \b
    Example:
      build-eye demo
    """
    from buildeye.cli.monitor import run_pass
    from buildeye.cli.setup import now, settings_for
    from buildeye.simulator import build_past
    from buildeye.simulator.server import running

    bare = folder / "archive.git"
    _make_archive(bare)
    past = build_past(seed, now())
    with running(past) as address:
        settings = settings_for(
            None,
            {
                "target_repository.owner": past.owner,
                "target_repository.repo": past.name,
                "target_repository.branch": "main",
                "monitored_workflows": (),
                "target_repository.monitored_workflows": (),
                "api.base_url": address,
                "api.status_url": address,
                "archive_repository.url": str(bare.absolute()),
                "report.output_dir": folder / "reports",
                "storage.data_dir": folder / "data",
                "storage.warehouse_dsn": f"chdb://{(folder / 'warehouse').absolute()}",
            },
        )
        typer.echo(run_pass(settings, dry_run=False))
        config = _write_config(folder, past.owner, past.name)
    reports = sorted((folder / "reports").rglob("*.md"))
    typer.echo(f"\nReports are in {os.path.relpath(folder / 'reports')}:")
    for path in reports[:20]:
        typer.echo(f"  {os.path.relpath(path)}")
    if len(reports) > 20:
        typer.echo(f"  and {len(reports) - 20} more")
    typer.echo(f"\nAsk what the pass has brought:\n  build-eye failures --config {os.path.relpath(config)}")


def _write_config(folder: Path, owner: str, name: str) -> Path:
    """A configuration file with which commands ask the warehouse of the demo."""
    path = folder / "config.yaml"
    warehouse = (folder / "warehouse").absolute()
    path.write_text(
        f"# The repository and the warehouse of build-eye demo, to ask questions about.\n"
        f"target_repository:\n  owner: {owner}\n  repo: {name}\n"
        f"storage:\n  warehouse_dsn: {json.dumps(f'chdb://{warehouse}')}\n"
        f"  data_dir: {json.dumps(str((folder / 'data').absolute()))}\n",
        encoding="utf-8",
    )
    return path


def _make_archive(bare: Path) -> None:
    import subprocess

    from buildeye.model import OutsideError, UsageError

    try:
        bare.parent.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutsideError(f"{bare.parent}: cannot be made ({e.strerror}); choose another place with --folder") from e
    try:
        if not bare.exists():
            init = ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)]
            subprocess.run(init, check=True, capture_output=True)
    except FileNotFoundError as e:
        raise UsageError("git is not installed; the demo needs it for its archive") from e
    except OSError as e:
        raise OutsideError(f"{bare.parent}: cannot be written ({e.strerror}); choose another --folder") from e
    except subprocess.CalledProcessError as e:
        said = e.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise OutsideError(f"{bare}: git cannot make the archive of the demo ({said}); choose another --folder") from e
