# SPDX-License-Identifier: Apache-2.0
"""Frames and tensors after one or two hops, of which something is held: no memory goes too early.

close() says False where the mapping made memory that is held. When the holder is gone, nothing of
the mapping is left. The memory of the second plane is looked at throughout, since it may be another
than that of the first.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import RouteError
from samebytes.plugins import sweep_loans

pytestmark = pytest.mark.usefixtures("devices")

CHAINS = [
    ("opencl", "openvino"),
    ("opencl", "gstreamer"),
    ("opencl", "ffmpeg"),
    ("opencl", "openvino:NPU"),
    ("dma", "openvino:GPU"),
    ("dma", "cpu", "ffmpeg"),
    ("vaapi", "openvino:GPU"),
    ("vaapi", "openvino:GPU", "cpu"),
    ("vaapi", "gstreamer"),
    ("vaapi", "dma"),
    ("vaapi", "dma", "cpu"),
    ("vaapi", "gstreamer", "dma"),
    ("vaapi", "ffmpeg:DRM"),
    ("level_zero", "openvino"),
    ("openvino:GPU", "opencl", "cpu"),
    ("openvino:GPU", "gstreamer"),
    ("openvino:NPU", "openvino"),
    ("dma", "ffmpeg:DRM"),
    ("cpu", "opencl", "openvino"),
]
HOLDERS: dict[str, Callable[[Frame], Any]] = {
    "all natives": lambda f: f.native,
    "the native of the second plane": lambda f: f.planes[1].native,
    "an array of the second plane": lambda f: f.planes[1].map("cpu").native,
    "the storage": lambda f: f.storage,
    "the storage of the second plane": lambda f: f.planes[1].storage,
    "another mapping": lambda f: f.map("cpu"),
    "an identity": lambda f: f.map(f.context),
}

CHAINS_OF_TENSORS = [
    ("opencl", "gstreamer"),
    ("opencl", "openvino"),
    ("openvino:GPU", "gstreamer"),
    ("openvino:GPU", "opencl"),
    ("dma", "openvino:GPU"),
    ("dma", "openvino:NPU"),
    ("opencv_umat", "openvino:GPU"),
]
HOLDERS_OF_TENSORS: dict[str, Callable[[Any], Any]] = {
    "the native": lambda t: t.native,
    "an array": lambda t: t.map("cpu").native,
    "the storage": lambda t: t.storage,
    "another mapping": lambda t: t.map("cpu"),
}


def made(chain: tuple[str, ...]) -> Frame:
    """The frame at the end of a chain, mapped for reading and writing."""
    context: Any = samebytes.context(chain[0])
    linear = {"modifiers": (0,)} if chain[0] == "vaapi" else {}
    frame: Frame = context.allocate_frame("NV12", 128, 64, **linear)
    with frame.map("cpu", "w") as view:
        for number, array in enumerate(view.native):
            array[...] = 40 + number
    for node in chain[1:]:
        frame = frame.map(node, "rw")
    return frame


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("chain", CHAINS, ids=" > ".join)
def test_whatever_is_held(chain: tuple[str, ...], holder: str) -> None:
    frame = made(chain)
    storages = [weakref.ref(storage) for storage in frame._made]
    try:
        held = HOLDERS[holder](frame)
    except RouteError:
        pytest.skip(f"known limit: {chain[-1]} does not map to cpu")
    assert frame.close() is (False if storages else None)
    if isinstance(held, Frame):
        with suppress(RouteError):
            for number, array in enumerate(held.map("cpu").native):
                assert (array == 40 + number).all()
            del array
    assert not storages or any(ref() is not None for ref in storages)
    del held
    sweep_loans()
    assert not any(ref() is not None for ref in storages)


@pytest.mark.parametrize("holder", HOLDERS_OF_TENSORS)
@pytest.mark.parametrize("chain", CHAINS_OF_TENSORS, ids=" > ".join)
def test_whatever_is_held_of_a_tensor(chain: tuple[str, ...], holder: str) -> None:
    """Of one whose mapping, or a mapping on its way, made memory."""
    tensor: Any = samebytes.context(chain[0]).allocate((5, 64))
    with tensor.map("cpu", "w", copy=True) as view:
        view.native[...] = 40
    for node in chain[1:]:
        tensor = tensor.map(node, "rw")
    storages = [weakref.ref(storage) for storage in tensor._made]
    assert storages
    held = HOLDERS_OF_TENSORS[holder](tensor)
    assert tensor.close() is False
    if isinstance(held, samebytes.Tensor | np.ndarray):
        assert (np.asarray(held) == 40).all()
    assert any(ref() is not None for ref in storages)
    del held
    sweep_loans()
    assert not any(ref() is not None for ref in storages)


@pytest.mark.parametrize("chain", CHAINS, ids=" > ".join)
def test_an_array_of_the_second_plane_keeps_its_memory(chain: tuple[str, ...]) -> None:
    frame = made(chain)
    with frame.map(frame.context, "r") as same:  # makes nothing, and closes at once
        try:
            array = same.planes[1].map("cpu").native
        except RouteError:
            pytest.skip(f"known limit: planes of {chain[-1]} do not map to cpu")
    del frame, same
    gc.collect()
    others = [made(chain[:1]) for _ in range(3)]  # freed memory is taken again
    assert (array == 41).all()
    del others


@pytest.mark.parametrize("chain", CHAINS, ids=" > ".join)
def test_flush_reaches_every_storage(chain: tuple[str, ...]) -> None:
    frame = made(chain)
    calls: list[int] = []
    for number, storage in enumerate(frame._made):
        storage.flush = _counting(calls, number, storage.flush)
    frame.flush()
    assert sorted(calls) == list(range(len(frame._made)))
    calls.clear()
    if len(frame._made) == 2:
        frame.planes[1].flush()
        assert 1 in calls


def _counting(calls: list[int], number: int, flush: Any) -> Callable[[], object]:
    def counted() -> None:
        calls.append(number)
        if flush is not None:
            flush()

    return counted


@pytest.mark.parametrize("node", ["cpu", "dma", "opencl", "vaapi", "level_zero", "openvino:NPU"])
def test_planes_unpacked_in_a_block(node: str) -> None:
    """The bytes are published at its end, and the mapping ends with the last array."""
    context: Any = samebytes.context(node)
    frame: Frame = context.allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "w") as view:
        storages = [weakref.ref(storage) for storage in view._made]
        y, uv = view.native
        y[...], uv[...] = 16, 128
    assert view.closed
    for array, value in zip(frame.map("cpu", copy=True).native, (16, 128), strict=True):
        assert (np.asarray(array) == value).all()
    assert (uv == 128).all()
    del y, uv
    assert not any(ref() is not None for ref in storages)
