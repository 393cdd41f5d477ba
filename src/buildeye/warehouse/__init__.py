"""Where CI facts and judgements live: ClickHouse, embedded in this process or on a server, with the same SQL.

Every stage reads rows here and writes rows here, so each can run alone, again, or on another machine.
"""

from buildeye.model import Push
from buildeye.warehouse.caserows import ReadArtifact
from buildeye.warehouse.connection import open_filled, open_to_ask, open_warehouse
from buildeye.warehouse.records import Baseline, JobDiagnosis, JobEnvironment, KeptLog, SyncCursor, SyncedRun
from buildeye.warehouse.store import Result, Warehouse

__all__ = [
    "Baseline",
    "JobDiagnosis",
    "JobEnvironment",
    "KeptLog",
    "Push",
    "ReadArtifact",
    "Result",
    "SyncCursor",
    "SyncedRun",
    "Warehouse",
    "open_filled",
    "open_to_ask",
    "open_warehouse",
]
