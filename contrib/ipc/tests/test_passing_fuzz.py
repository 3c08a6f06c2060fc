# SPDX-License-Identifier: Apache-2.0
"""Any bytes and descriptors give an object that can be used, or an error of samebytes."""

from __future__ import annotations

import copy
import fcntl
import gc
import json
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samebytes import Frame, Region, Tensor, metadata
from samebytes.errors import NoRouteError, SamebytesError
from samebytes_dma import DMATensor
from samebytes_ipc import receive

pytestmark = pytest.mark.together

PLANE: dict[str, Any] = {
    "buffer": 0, "dtype": "uint8", "shape": [16, 16], "strides": [16, 1], "offset": 0,
    "pitch": None, "modifier": 0,
}  # fmt: skip
RESULT: dict[str, Any] = {
    "tensor": None, "model_name": "", "layer_name": "", "name": "", "format": "", "layout": "",
    "point_names": [], "point_connections": [],
}  # fmt: skip
DOCUMENTS: tuple[dict[str, Any], ...] = (
    {"readonly": False, "tensor": PLANE},
    {
        "readonly": True,
        "frame": {
            "planes": [PLANE, {**PLANE, "shape": [8, 8, 2], "strides": [16, 2, 1], "offset": 256}],
            "image": {"format": "NV12", "width": 16, "height": 16},
            "pts": None,
            "time_base": [1, 30],
            "regions": [],
            "metadata": {"a": [1, {"b": None}]},
            "entries": [
                {"kind": "object_id", "id": 3},
                {
                    "kind": "model",
                    "name": "m",
                    "inputs": [{"name": "x", "dtype": "uint8", "shape": [1, None]}],
                    "outputs": [],
                },
                {"kind": "affine", "matrix": [1, 0, 0, 0, 1, 0]},
                {
                    "kind": "classification",
                    "label": "day",
                    "confidence": 0.5,
                    "label_id": None,
                    "attribute": "",
                    "result": {
                        **RESULT,
                        "tensor": {"dtype": "uint8", "shape": [2], "data": "AQI="},
                    },
                },
                {"kind": "inference", **RESULT, "tensor": {"plane": PLANE, "readonly": False}},
            ],
        },
    },
)
EDGES = [0, 1, -1, 2, 16, 255, 4095, 4096, 1 << 31, 1 << 62, (1 << 63) - 1, 1 << 64, 10**30]
NAMES = [
    "",
    "kind",
    "entries",
    "samebytes",
    "affine",
    "inference",
    "tensor",
    "result",
    "y",
    "uint8",
    "uint4",
    "float64",
    "bfloat16",
    "NV12",
    "I420",
    "BGR",
    "buffer",
    "planes",
]

leaves = (
    st.none() | st.booleans() | st.sampled_from(EDGES) | st.integers() | st.floats()
    | st.sampled_from(NAMES) | st.text(max_size=8)
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=8,
)


def _sealed_memfd(size: int = 4096) -> int:
    fd = os.memfd_create("fuzz", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


MAKERS: tuple[Callable[[], int], ...] = (
    _sealed_memfd,
    lambda: _sealed_memfd(100),
    lambda: _sealed_memfd(0),
    lambda: os.memfd_create("unsealed"),
    lambda: os.open("/dev/zero", os.O_RDWR),
    lambda: os.open("/", os.O_RDONLY),
    lambda: os.eventfd(0),
)


def change(draw: st.DrawFn, inner: Any) -> None:
    """Replace, remove or add one value somewhere in it."""
    while True:
        keys = list(range(len(inner))) if isinstance(inner, list) else list(inner)
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if isinstance(inner[key], list | dict) and draw(st.integers(0, 3)):
            inner = inner[key]
            continue
        if draw(st.integers(0, 5)):
            inner[key] = draw(values)
        else:
            del inner[key]
        break


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A description with up to three values replaced, removed or added."""
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(0, 3))):
        change(draw, document)
    return json.dumps(document).encode()


@st.composite
def typed_entries(draw: st.DrawFn) -> bytes:
    """A message that is right but for up to two values of the typed entries."""
    document = copy.deepcopy(DOCUMENTS[1])
    region = {"x": 0, "y": 0, "width": 1, "height": 1, "label": "", "confidence": None,
              "metadata": {}, "entries": copy.deepcopy(document["frame"]["entries"])}  # fmt: skip
    document["frame"]["regions"].append(region)
    for _ in range(draw(st.integers(0, 2))):
        holder = draw(st.sampled_from([document["frame"], region]))
        change(draw, draw(st.sampled_from(holder["entries"])))
    body = json.dumps(document).encode()
    return struct.pack("<4sHHI", b"SBDM", 1, 1, len(body)) + body


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Mostly whole messages, so that what lies behind the header is reached."""
    body = draw(documents() | st.binary(max_size=40))
    magic = draw(st.sampled_from([b"SBDM"] * 9 + [b"SBDN"]))
    version = draw(st.sampled_from([1] * 9 + [2]))
    count = draw(st.sampled_from([1] * 6 + [0, 2, 65]))
    length = draw(st.sampled_from([len(body)] * 9 + [0, len(body) + 1, 1 << 31]))
    whole = struct.pack("<4sHHI", magic, version, count, length) + body
    return whole[: draw(st.sampled_from([len(whole)] * 9 + [5]))]


@pytest.fixture(scope="module", autouse=True)
def nothing_waits_for_the_collector() -> None:
    """Collect the garbage of earlier modules, which could close its descriptors at any moment."""
    gc.collect()


def _open_descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone


def _use(item: Tensor | Frame) -> None:
    """Read every byte; what has no rows says so."""
    try:
        view = item.map("cpu")
    except NoRouteError:
        return
    for array in view if isinstance(view, Frame) else (view,):
        assert array.native.sum() == 0
    if isinstance(item, Frame):
        holders: list[Frame | Region] = [item, *item.regions]
        for holder in holders:
            for result in metadata.all_of(holder, metadata.InferenceResult):
                if isinstance(result.tensor, DMATensor):
                    with suppress(NoRouteError):
                        assert result.tensor.map("cpu").native.sum() == 0
                elif result.tensor is not None:
                    result.array.sum()


@settings(deadline=None, max_examples=100)
@given(
    sent=messages(),
    makers=st.lists(st.sampled_from(MAKERS), max_size=3) | st.just([_sealed_memfd]),
    kind=st.sampled_from([socket.SOCK_STREAM, socket.SOCK_SEQPACKET]),
    trusted=st.booleans(),
)
def test_any_message(
    sent: bytes, makers: list[Callable[[], int]], kind: socket.SocketKind, trusted: bool
) -> None:
    _send_and_use(sent, makers, kind, trusted)


@settings(deadline=None, max_examples=200)
@given(sent=typed_entries())
def test_any_typed_entries(sent: bytes) -> None:
    _send_and_use(sent, [_sealed_memfd], socket.SOCK_STREAM, trusted=False)


def _send_and_use(
    sent: bytes, makers: list[Callable[[], int]], kind: socket.SocketKind, trusted: bool
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with ours, theirs:
        theirs.settimeout(20)
        before = _open_descriptors()
        fds = [make() for make in makers]
        socket.send_fds(ours, [sent], fds)
        for fd in fds:
            os.close(fd)
        ours.shutdown(socket.SHUT_WR)
        try:
            item = receive(theirs, trusted=trusted)
        except SamebytesError:
            assert _open_descriptors() == before
        else:
            _use(item)
            del item
            assert _open_descriptors() == before
