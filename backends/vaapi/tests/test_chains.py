# SPDX-License-Identifier: Apache-2.0
"""Longer ways through surfaces, as from a decoder's frame to the CPU: close() ends all of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from samebytes import Frame

Steady = Callable[[], AbstractContextManager[None]]


def derived(functions: Any) -> None:
    """As drivers do that map surfaces."""
    del functions


def copied(functions: Any) -> None:
    """As drivers do that only copy surfaces."""
    functions.fail("vaDeriveImage", 1)
    functions.fail("vaExportSurfaceHandle", 20)


def exported_in_pieces(functions: Any) -> None:
    """As drivers do that have an object for each plane."""

    def split(real: Any, *arguments: Any) -> int:
        status, out = int(real(*arguments)), arguments[4]._obj
        out.num_objects = 2
        out.objects[1] = out.objects[0]
        out.objects[1].fd = os.dup(out.objects[0].fd)
        out.layers[0].object_index[1] = 1
        return status

    functions.handlers["vaExportSurfaceHandle"] = split


def through_a_surface(wrapped: Any, target: str, access: Any) -> Frame:
    """Return the mapping of a route whose first hop made the surface: closing it ends both."""
    surface = wrapped.context.allocate_frame("NV12", 64, 32)
    mapped: Frame = surface.map(target, access, copy=True)
    mapped.parent = None
    mapped._made = (surface.storage, *mapped._made)
    return mapped


@pytest.mark.usefixtures("dma_plugin")
@pytest.mark.parametrize("access", ["r", "w", "rw"])
@pytest.mark.parametrize(
    ("drivers", "target"),
    [(derived, "cpu"), (copied, "cpu"), (derived, "dma"), (exported_in_pieces, "dma")],
    ids=["derived", "copied", "exported", "exported in pieces"],
)
def test_closing_ends_the_surface(
    wrapped: Any, no_descriptor_left: Steady, drivers: Any, target: str, access: Any
) -> None:
    drivers(wrapped.functions)
    through_a_surface(wrapped, target, access).close()  # routing looks for other ways once
    wrapped.functions.calls.clear()
    with no_descriptor_left():
        mapped = through_a_surface(wrapped, target, access)
        mapped.flush()
        held = mapped.native[0]
        assert mapped.close() is False
        if drivers is not copied or access != "r":  # a copy that is not written back holds nothing
            assert not wrapped.functions.named("vaDestroySurfaces")
        del held
    assert len(wrapped.functions.named("vaDestroySurfaces")) == 1
    names = [name for name, _ in wrapped.functions.calls]
    if access != "r" and drivers is copied:
        assert names.index("vaDestroySurfaces") > max(
            n for n, name in enumerate(names) if name == "vaPutImage"
        )


def test_written_back_when_dropped(wrapped: Any) -> None:
    """The surface is there until then, whoever else released it."""
    copied(wrapped.functions)
    mapped = through_a_surface(wrapped, "cpu", "rw")
    array = mapped.native[1]
    del mapped
    assert not wrapped.functions.named("vaPutImage")
    array[...] = 1
    del array
    names = [name for name, _ in wrapped.functions.calls]
    assert names.index("vaPutImage") < names.index("vaDestroySurfaces")
