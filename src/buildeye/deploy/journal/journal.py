"""The journal: all a supervisor must know after it was killed, and all that clients ask and see."""

from buildeye.deploy.journal.deployments import Deployments
from buildeye.deploy.journal.leases import Leases
from buildeye.deploy.journal.requests import Requests
from buildeye.deploy.journal.runs import Runs
from buildeye.deploy.journal.signals import Signals


class Journal(Leases, Deployments, Signals, Runs, Requests):
    """An open journal; close it. What a method returned from is on disk.

    A method that writes takes the Fence under which it may, None for a client, and raises Fenced when another
    supervisor took over. All raise OutsideError when the database fails, and then nothing was changed. Threads may
    share one.
    """
