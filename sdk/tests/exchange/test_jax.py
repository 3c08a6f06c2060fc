# SPDX-License-Identifier: Apache-2.0
"""jax as producer and as consumer. Its arrays are immutable, its capsules legacy ones."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.__main__ import main
from samebytes.errors import ExportError, UnknownNameError

jax: Any = pytest.importorskip("jax", reason="missing package jax: pip install jax")


@pytest.mark.parametrize("name", ["uint8", "float32", "bfloat16"])
def test_a_jax_array_is_used_in_place_and_read_only(name: str) -> None:
    x = jax.numpy.arange(16).astype(name)
    got = samebytes.tensor(x)
    assert got.dtype is samebytes.dtype(name)
    assert got.native.ctypes.data == x.unsafe_buffer_pointer()
    assert got.readonly
    assert not got.native.flags.writeable
    expected = np.asarray(x).tobytes()
    kept = got.native[8:]
    del got, x
    gc.collect()
    assert kept.tobytes() == expected[len(expected) // 2 :]


@pytest.mark.parametrize("name", ["uint8", "float32", "bfloat16"])
def test_jax_uses_an_aligned_export_in_place(exporter: Callable[..., Any], name: str) -> None:
    d = samebytes.dtype(name)
    room = np.zeros(64 + 64 * d.carrier.itemsize, np.uint8)
    start = -room.ctypes.data % 64  # jax copies what is not aligned to 64 bytes
    a = room[start : start + 64 * d.carrier.itemsize].view(d.carrier)
    x = jax.dlpack.from_dlpack(exporter(a, d))
    assert str(x.dtype) == name
    assert x.unsafe_buffer_pointer() == a.ctypes.data


@pytest.mark.parametrize("offset", [0, 16, 32, 64, 128])
def test_jax_copies_what_does_not_begin_at_64_bytes(offset: int) -> None:
    """It says so by no error: who needs the same bytes asks for copy=False."""
    whole = samebytes.context("cpu").allocate((4096,))
    part = samebytes.tensor(whole.native[offset : offset + 256])
    taken = jax.dlpack.from_dlpack(part)
    in_place = taken.unsafe_buffer_pointer() == part.handle("data")
    assert in_place == (offset % 64 == 0)
    if not in_place:
        with pytest.raises(ValueError, match="64"):
            jax.dlpack.from_dlpack(part, copy=False)


def test_the_route_to_jax_and_the_doctor_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match="does not begin at a multiple of 64 bytes"):
        samebytes.route("cpu", "jax")
    assert main(["doctor", "cpu"]) == 0
    assert "which copies memory of the CPU that does not begin at a multiple of 64 bytes" in (
        capsys.readouterr().out
    )


def read_only() -> np.ndarray[Any, Any]:
    """An array that begins where JAX takes it in place."""
    memory = samebytes.context("cpu").allocate((4, 64), "float32")
    memory.native[...] = 3
    array = memory.native.view()
    array.flags.writeable = False
    return array


# Every way by which memory comes to be read-only.
READ_ONLY: dict[str, Callable[[], Any]] = {
    "an array": lambda: samebytes.tensor(read_only()),
    "a mapping": lambda: samebytes.context("cpu").allocate((4, 64), "float32").map("cpu"),
    "a mapping of bfloat16": lambda: samebytes.context("cpu").allocate((4,), "bfloat16").map("cpu"),
    "a plane": lambda: samebytes.frame(read_only(), format="GRAYF32LE").map("cpu")[0],
    "bytes": lambda: samebytes.tensor(bytes(64)),
    "an array of JAX's": lambda: samebytes.tensor(jax.numpy.ones(3)),
}


@pytest.mark.parametrize("kind", READ_ONLY)
def test_jax_takes_read_only_memory_and_does_not_write_to_it(kind: str) -> None:
    """It asks for legacy capsules, which cannot say that. What it is given up, it leaves alone."""
    tensor = READ_ONLY[kind]()
    assert tensor.readonly
    before = tensor.native.tobytes()
    taken = jax.numpy.from_dlpack(tensor)
    assert (taken.shape, str(taken.dtype)) == (tensor.shape, str(tensor.dtype))
    jax.jit(lambda x: x + x, donate_argnums=0)(taken).block_until_ready()
    assert tensor.native.tobytes() == before
    assert not tensor.native.flags.writeable


def test_it_is_in_place_and_keeps_the_memory() -> None:
    array = read_only()
    taken = jax.numpy.from_dlpack(samebytes.tensor(array))
    assert taken.unsafe_buffer_pointer() == array.ctypes.data
    del array
    gc.collect()
    assert float(taken.sum()) == 3 * 4 * 64


def test_others_that_ask_for_legacy_capsules_get_no_read_only_memory() -> None:
    with pytest.raises(ExportError, match="the legacy capsule that the consumer asked for"):
        samebytes.tensor(read_only()).__dlpack__(stream=None)
