"""`build-eye demo`: the main job against a simulated GitHub with three weeks of past."""

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
    import subprocess

    from buildeye.cli.monitor import run_pass
    from buildeye.cli.setup import now, settings_for
    from buildeye.simulator import build_past
    from buildeye.simulator.server import running

    folder.mkdir(parents=True, exist_ok=True)
    bare = folder / "archive.git"
    if not bare.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
    past = build_past(seed, now())
    with running(past) as address:
        settings = settings_for(
            None,
            {
                "target_repository.owner": past.owner,
                "target_repository.repo": past.name,
                "target_repository.branch": "main",
                "api.base_url": address,
                "archive_repository.url": str(bare.absolute()),
                "report.output_dir": folder / "reports",
                "storage.data_dir": folder / "data",
                "storage.warehouse_dsn": f"chdb://{(folder / 'warehouse').absolute()}",
            },
        )
        typer.echo(run_pass(settings, dry_run=False))
    reports = sorted((folder / "reports").rglob("*.md"))
    typer.echo(f"\nReports are in {os.path.relpath(folder / 'reports')}:")
    for path in reports[:20]:
        typer.echo(f"  {os.path.relpath(path)}")
    if len(reports) > 20:
        typer.echo(f"  and {len(reports) - 20} more")
