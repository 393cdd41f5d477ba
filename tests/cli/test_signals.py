"""Signals as a wish to end: heard once, by every thread that waits; a second interrupt is not asked twice."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from buildeye.cli.signals import signalled_stop
from tests.pipeline.places import environment

_CHILD = """
import time
from buildeye.cli.signals import signalled_stop
with signalled_stop() as stop:
    print("ready", flush=True)
    while not stop.asked():
        time.sleep(0.01)
    print("asked", flush=True)
    while True:
        time.sleep(1)
"""


def test_every_waiting_thread_hears_a_signal_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signalled_stop() as stop:
        assert not stop.wait(0) and not stop.asked()
        heard: list[bool] = []
        threads = [threading.Thread(target=lambda: heard.append(stop.wait(60))) for _ in range(3)]
        for thread in threads:
            thread.start()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(60)
        for thread in threads:
            thread.join(60)
        assert heard == [True] * 3
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.asked()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_after_the_wish_ends_the_process_at_once(first: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(first)
        assert child.stdout.readline() == "asked\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
        assert child.stderr.read() == "build-eye: stopped\n"
