# SPDX-License-Identifier: Apache-2.0
"""torch as producer and as consumer."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import ExportError, LayoutError, UnsupportedObjectError

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="missing package torch: pip install torch")

NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
]  # fmt: skip


def bits(t: torch.Tensor) -> torch.Tensor:
    return t.view(torch.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_a_torch_tensor_is_used_in_place(name: str) -> None:
    t = torch.zeros((3, 8), dtype=getattr(torch, name))[:, 2:6]
    got = samebytes.tensor(t)
    assert got.dtype is samebytes.dtype(name)
    assert got.native.ctypes.data == t.data_ptr()
    assert got.native.shape == (3, 4)
    assert got.native.strides == tuple(s * t.element_size() for s in t.stride())
    assert not got.readonly
    got.native.view(np.uint8)[1, 0] = 1
    assert int(bits(t)[1, 0]) == 1
    bits(t)[2, 0] = 1
    assert got.native.view(np.uint8)[2, 0] == 1


@pytest.mark.parametrize("name", NAMES)
def test_torch_uses_an_export_in_place(exporter: Callable[..., Any], name: str) -> None:
    d = samebytes.dtype(name)
    a = np.zeros((3, 8), d.carrier)[:, 2:6]
    t = torch.from_dlpack(exporter(a, d))
    assert t.dtype is getattr(torch, name)
    assert (t.data_ptr(), tuple(t.shape)) == (a.ctypes.data, (3, 4))
    assert tuple(s * t.element_size() for s in t.stride()) == a.strides
    bits(t)[1, 0] = 1
    assert a.view(np.uint8)[1, 0] == 1
    a.view(np.uint8)[2, 0] = 1
    assert int(bits(t)[2, 0]) == 1


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_the_exported_array_lives_as_long_as_the_torch_tensor(
    exporter: Callable[..., Any], name: str
) -> None:
    a = np.zeros(1000, samebytes.dtype(name).carrier)
    alive = weakref.ref(a)
    t = torch.from_dlpack(exporter(a, samebytes.dtype(name)))[990:]
    del a
    gc.collect()
    assert alive() is not None
    t[...] = 3
    assert t.sum().item() == 30
    del t
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_the_memory_of_a_torch_tensor_outlives_it(kind: torch.dtype) -> None:
    t = torch.arange(1000, dtype=torch.float32).to(kind)
    expected = t[990:].clone()
    kept = samebytes.tensor(t).native[990:]
    del t
    gc.collect()
    for _ in range(10):
        torch.full((1000,), 77, dtype=kind)
    assert kept.tobytes() == bits(expected).numpy().tobytes()


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 0)])
def test_scalars_and_empty_arrays(
    exporter: Callable[..., Any], name: str, shape: tuple[int, ...]
) -> None:
    a = np.zeros(shape, samebytes.dtype(name).carrier)
    t = torch.from_dlpack(exporter(a, samebytes.dtype(name)))
    assert tuple(t.shape) == shape
    back = samebytes.tensor(t)
    assert back.native.shape == shape
    if not shape:
        t.fill_(1)
        assert back.native[()] == a[()] != 0


def test_an_empty_array_with_negative_strides(exporter: Callable[..., Any]) -> None:
    a = np.zeros((4, 3))[0:0, ::-1]
    assert tuple(torch.from_dlpack(exporter(a, samebytes.dtype("float64"))).shape) == (0, 3)


def test_one_element_with_a_negative_stride(exporter: Callable[..., Any]) -> None:
    a = np.arange(4.0)
    t = torch.from_dlpack(exporter(a[::-1][:1], samebytes.dtype("float64")))
    t[0] = 9
    assert a[3] == 9


@pytest.mark.parametrize("copy", [None, False])
def test_torch_with_device_and_copy(exporter: Callable[..., Any], copy: bool | None) -> None:
    a = np.zeros(3)
    t = torch.from_dlpack(exporter(a, samebytes.dtype("float64")), device="cpu", copy=copy)
    assert t.data_ptr() == a.ctypes.data


def test_torch_asks_for_a_copy(exporter: Callable[..., Any]) -> None:
    counted: list[int] = []
    a = np.arange(4.0)[::-1]
    t = torch.from_dlpack(
        exporter(a, samebytes.dtype("float64"), on_copy=counted.append), copy=True
    )
    assert t.tolist() == [3, 2, 1, 0]
    t[0] = 9
    assert a[0] == 3
    assert counted == [32]


def test_what_torch_cannot_lend() -> None:
    with pytest.raises(UnsupportedObjectError, match="detach"):
        samebytes.tensor(torch.zeros(3, requires_grad=True))
    with pytest.raises(UnsupportedObjectError, match="conjugate"):
        samebytes.tensor(torch.zeros(3, dtype=torch.complex64).conj())
    negated = torch.zeros(3, dtype=torch.complex64).conj().imag
    with pytest.raises(UnsupportedObjectError, match="resolve_neg"):  # torch lends it as it is
        samebytes.tensor(negated)
    samebytes.tensor(negated.resolve_neg())
    with pytest.raises(LayoutError):
        samebytes.tensor(torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))


def test_a_refused_export_reaches_the_caller_of_torch(exporter: Callable[..., Any]) -> None:
    with pytest.raises(ExportError, match="not multiples"):
        torch.from_dlpack(
            exporter(np.zeros(4, [("x", "u1"), ("y", "f4")])["y"], samebytes.dtype("float32"))
        )


def test_a_negative_stride_raises_where_torch_would_abort() -> None:
    script = """
        import numpy as np, samebytes, torch

        try:
            torch.from_dlpack(samebytes.tensor(np.zeros((4, 4))[::-1]))
        except BufferError as error:
            print(type(error).__name__)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ExportError\n")


def test_living_tensors_at_interpreter_exit() -> None:
    script = """
        import builtins
        import samebytes, torch

        for kind in (torch.float32, torch.bfloat16):
            source = torch.ones(4, dtype=kind)
            got = samebytes.tensor(source)
            back = torch.from_dlpack(got)
            setattr(builtins, f"kept_{kind}", (got, back))
            globals()[f"kept_{kind}"] = got.native[1:], back[1:]
        print("end of script")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end of script\n", "")


@pytest.mark.parametrize("name", ["float8_e4m3fnuz", "complex32", "float4_e2m1fn_x2"])
def test_types_that_nobody_else_has_go_as_uint8(name: str) -> None:
    """As the error says."""
    tensor = torch.zeros((2, 8), dtype=torch.uint8).view(getattr(torch, name))
    with pytest.raises(LayoutError, match=r"export .*as uint8"):
        samebytes.tensor(tensor)
    taken = samebytes.tensor(tensor.view(torch.uint8))
    assert taken.shape == (2, 8)
    assert taken.handle() == tensor.data_ptr()
