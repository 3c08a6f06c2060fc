# SPDX-License-Identifier: Apache-2.0
"""One thread at a time waits for a queue; for different queues they wait beside each other."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import samebytes_sycl
from samebytes_sycl._queues import waits_for


class Queue:
    """Notes how many threads wait for it."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    def wait(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.005)
        self.inside -= 1


def in_threads(*functions: Any) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one_after_the_other() -> None:
    queue: Any = Queue()
    in_threads(*[waits_for(queue)] * 6)
    assert queue.most == 1


def test_of_two_queues_neither_waits_for_the_other() -> None:
    first: Any = Queue()
    second: Any = Queue()
    arrived = threading.Barrier(2)
    first.wait = second.wait = lambda: arrived.wait(10)
    in_threads(waits_for(first), waits_for(second))


def test_nothing_here_waits_in_another_way() -> None:
    folder = Path(samebytes_sycl.__file__).parent
    found = {
        path.name for path in folder.glob("*.py") if re.search(r"queue\.wait\b", path.read_text())
    }
    assert found == {"_queues.py"}
