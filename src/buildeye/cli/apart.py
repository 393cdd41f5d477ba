"""A pass in a process of its own, so that a watcher stays as small and as sound as when it began.

The embedded engine keeps 5 threads and 12 open files each time it is opened and closed, and a crash inside it would end
the watcher. The watcher itself has no threads and no engine, so it may fork.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Final

from buildeye.cli.signals import SignalledStop
from buildeye.cli.voice import sentence

_LONGEST: Final = 8_000  # characters of a message; a pipe takes 64 KiB without a reader


def run_apart(work: Callable[[], None], stop: SignalledStop) -> None:
    """Do `work` in a child and wait for its end. The child ends its work when `stop` is asked for or this process dies.

    StopAsked, UsageError and OutsideError as `work` raised them; OutsideError for what else ended it.
    """
    from buildeye.model import OutsideError, UsageError
    from buildeye.pipeline.watch import StopAsked

    _flush()
    told, tells = os.pipe2(os.O_CLOEXEC)
    lifeline, held = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if not child:
        os.close(told)
        os.close(held)
        stop.tie_to(lifeline)
        _work(work, tells)
    stop.child = child
    os.close(tells)
    os.close(lifeline)
    with os.fdopen(told, "rb") as outcome:
        said = outcome.read()
    _, status = os.waitpid(child, 0)
    stop.child = 0
    os.close(held)
    kind, message = json.loads(said) if said else ("", _ending(status))
    match kind:
        case "done":
            return
        case "stopped":
            raise StopAsked
        case "usage":
            raise UsageError(message)
        case _:
            raise OutsideError(message)


def _work(work: Callable[[], None], tells: int) -> None:
    """Do the work and tell how it ended, in the child; does not return."""
    from buildeye.model import UsageError
    from buildeye.pipeline.watch import StopAsked

    kind, message = "failed", "it ended early"
    try:
        work()
        kind, message = "done", ""
    except StopAsked:
        kind = "stopped"
    except UsageError as error:
        kind, message = "usage", str(error)
    except Exception as error:  # noqa: BLE001 - told by the parent, which goes on
        kind, message = "failed", sentence(error)
        if os.environ.get("BUILD_EYE_DEBUG"):
            traceback.print_exc()
    finally:
        os.write(tells, json.dumps([kind, message[:_LONGEST]]).encode())
        _flush()
        os._exit(0)


def _flush() -> None:
    """Let nothing that was printed be printed twice, or not at all."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"its process was ended by {how}; when that is 9, the machine may be short of memory"
