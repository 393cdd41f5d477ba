"""Who tells people of deployments, as the settings say."""

import os
from pathlib import Path

from buildeye.config import Settings
from buildeye.deploy.announcing import Announcer
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal
from buildeye.insight.commits import CommitStory, story_of
from buildeye.model import BuildEyeError


def announcer(settings: Settings, journal: Journal, run_root: Path, clock: Clock) -> Announcer:
    """Reports go where the reports of runs go; CI is asked in the warehouse, opened for the question only."""

    def story(repository: str, commit: str) -> CommitStory | None:
        from buildeye.warehouse import open_to_ask

        try:
            with open_to_ask(settings.storage.warehouse_dsn, settings.storage.data_dir) as warehouse:
                return story_of(warehouse, repository, commit)
        except BuildEyeError:
            return None  # another process has the warehouse now; the report says that CI is not known

    return Announcer(
        journal,
        run_root,
        settings.report.output_dir.absolute(),
        os.environ,
        clock,
        story,
        settings.report.language.value,
        settings.report.max_log_lines,
    )
