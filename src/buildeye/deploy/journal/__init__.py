"""The journal of deployments: durable, fenced, on SQLite or PostgreSQL.

`open_journal` opens one; `SampleWriter` stores samples of many deployments in one transaction.
"""

from buildeye.deploy.journal.journal import Journal
from buildeye.deploy.journal.leases import Holder, ServiceRow, this_holder, this_host
from buildeye.deploy.journal.opening import open_journal
from buildeye.deploy.journal.requests import DeployRequest
from buildeye.deploy.journal.store import Fence, Fenced
from buildeye.deploy.journal.writer import SampleWriter

__all__ = [
    "DeployRequest",
    "Fence",
    "Fenced",
    "Holder",
    "Journal",
    "SampleWriter",
    "ServiceRow",
    "open_journal",
    "this_holder",
    "this_host",
]
