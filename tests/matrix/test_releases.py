# SPDX-License-Identifier: Apache-2.0
"""What gives memory back may be interrupted by a signal handler, and then goes on.

A function written in Python can be interrupted before any of its instructions, and nobody would
give back what is left. So each release is one function written in C, or `Resumable`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from samebytes import Storage
from samebytes.errors import SamebytesError
from samebytes.plugins import Resumable
from samebytes.testing import living_objects

from .sources import IMAGES, SOURCES, TARGETS, TENSORS

LAYOUTS = TENSORS | IMAGES


def _in_python(release: Callable[..., Any] | None) -> bool:
    while isinstance(release, partial) and not isinstance(release, Resumable):
        release = release.func
    if release is None or isinstance(release, Resumable):
        return False
    return any(hasattr(code, "__code__") for code in (release, type(release).__call__))


def test_what_counts_as_python() -> None:
    def release() -> None: ...

    class Release:
        def __call__(self) -> None: ...

    assert _in_python(release)
    assert _in_python(partial(release))
    assert _in_python(Release())
    assert not _in_python(Resumable(release))
    assert not _in_python([].clear)
    assert not _in_python(None)


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("name", SOURCES)
def test_every_release_goes_on(name: str, request: pytest.FixtureRequest) -> None:
    """Of the source's memory, and of everything that it is mapped and copied to."""
    if "cuda" in name.lower():
        request.getfixturevalue("cuda_device")
    source = SOURCES[name]
    held: list[Any] = []
    for layout in source.layouts:
        item = source.make(LAYOUTS[layout])
        held.append(item)
        for target in TARGETS:
            for copy in (False, True):
                with suppress(SamebytesError):
                    held.append(item.map(target, "r", copy=copy))
    assert len(held) > len(source.layouts), "nothing was mapped"
    storages = living_objects(Storage)
    assert storages
    found = {repr(s.release) for s in storages if _in_python(s.release)}
    assert not found
