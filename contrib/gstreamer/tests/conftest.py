# SPDX-License-Identifier: Apache-2.0
"""A check after every test that nothing is still lent to GStreamer, and no descriptor open."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import samebytes
import samebytes_gstreamer as sbg
from samebytes_gstreamer._memory.loans import held_count
from samebytes_gstreamer._pipelines import pipeline


def _open_descriptors() -> int:
    """The number of open memfds and DMA-BUFs."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sum(link.startswith(("/memfd:", "/dmabuf:")) for link in links)


def _footprint() -> tuple[int, int]:
    return held_count(), _open_descriptors()


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Check that each test takes back what it lent, and closes the descriptors that it opened."""
    before = _footprint()
    samebytes.reset_stats()
    yield
    if _footprint() != before:
        gc.collect()  # a traceback that pytest keeps, or a cycle of the test's own
    lent, opened = _footprint()
    # There may be fewer descriptors, if garbage of an earlier test was collected just now.
    assert lent == before[0], "buffers are still lent"
    assert opened <= before[1], "descriptors are still open"


@pytest.fixture
def lent() -> Callable[[], int]:
    """A function that counts the objects that are lent to GStreamer."""
    return held_count


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set how many seconds an element may continue after it was asked to stop."""
    return lambda seconds: monkeypatch.setattr(pipeline, "_PATIENCE", seconds)


@pytest.fixture
def memfds_left() -> Callable[[], int]:
    """A function that counts the descriptors of memory opened since the test began."""
    before = _open_descriptors()
    return lambda: _open_descriptors() - before


@pytest.fixture(scope="module")
def registered() -> None:
    """Register the elements of sample_elements.py as sb_ and the name of each."""
    from .sample_elements import ELEMENTS

    for element in ELEMENTS:
        sbg.register(element, name=f"sb_{element.name}")
