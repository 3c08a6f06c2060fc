# SPDX-License-Identifier: Apache-2.0
"""Frames to send through pipelines, and a check that no thread is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import samebytes as sb


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Check that every pipeline has ended its threads; reset the statistics before."""
    before = set(threading.enumerate())
    sb.reset_stats()
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before]
    assert not [name for name in left if name.startswith("samebytes")]
