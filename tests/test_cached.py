"""Attributes that are worked out when they are first read."""

from __future__ import annotations

import os
import signal
from threading import Event, Thread, current_thread, main_thread

import pytest

from tests.waiting import PATIENCE
from tidal_plugins.cached import cached_property


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_reads_what_a_thread_was_working_out_when_its_parent_forked() -> None:
    begun, ended = Event(), Event()

    class Slow:
        @cached_property
        def name(self) -> str:
            if current_thread() is not main_thread():
                begun.set()
                ended.wait(PATIENCE)
            return current_thread().name

    slow = Slow()
    thread = Thread(target=lambda: slow.name)
    thread.start()
    assert begun.wait(PATIENCE)
    child = os.fork()
    if not child:
        signal.alarm(10)
        os._exit(0 if slow.name == slow.name == "MainThread" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ended.set()
    thread.join(PATIENCE)
    assert slow.name == thread.name
