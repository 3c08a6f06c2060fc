# SPDX-License-Identifier: Apache-2.0
"""Marks of tests that need vivid, and a check that no test leaves a descriptor open."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests on a camera unless the kernel has its virtual one: no user's camera is touched."""
    if Path("/sys/module/vivid").exists():
        return
    skip = pytest.mark.skip(reason="this kernel makes no DMA-BUFs: python3 dev.py lab")
    for item in items:
        if item.get_closest_marker("dmabuf") is not None:
            item.add_marker(skip)


def _open_files() -> list[str]:
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sorted(link for link in links if link.startswith(("/dev/", "/memfd:", "anon_inode:[ev")))


@pytest.fixture(autouse=True)
def no_descriptor_left_over() -> Iterator[None]:
    """Check that each test closed its descriptors, including those of refused nodes."""
    before = _open_files()
    yield
    if len(_open_files()) > len(before):
        gc.collect()  # a traceback that pytest keeps
    after = _open_files()
    assert len(after) <= len(before), (after, before)
