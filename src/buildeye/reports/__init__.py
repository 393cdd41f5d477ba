"""What people read: the Markdown report of a pull request and day, the table at the end of a pass, and the archive.

Nothing here judges; it tells what `triage` holds to be true, and never more surely than the verdict does.
"""

from buildeye.reports.archive import ArchiveResult, archive
from buildeye.reports.folder import WriteResult, write_reports
from buildeye.reports.paths import report_path
from buildeye.reports.render import render_report
from buildeye.reports.table import SummaryRow, summary_table
from buildeye.reports.words import Language

__all__ = [
    "ArchiveResult",
    "Language",
    "SummaryRow",
    "WriteResult",
    "archive",
    "render_report",
    "report_path",
    "summary_table",
    "write_reports",
]
