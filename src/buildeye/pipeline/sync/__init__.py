"""Bringing the warehouse up to date with GitHub: what is new is asked for, what is known is not.

Each stream of facts (runs, pull requests, the base branch) has a cursor in the warehouse that moves only after its
facts are there; a pass that is killed leaves the cursor where it was, and the next one asks for what is still missing.
"""

from buildeye.pipeline.sync.everything import Synced, sync
from buildeye.pipeline.sync.scope import Scope, Window

__all__ = ["Scope", "Synced", "Window", "sync"]
