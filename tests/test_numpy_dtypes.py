# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays of dtypes that ml_dtypes adds: from the wrap on they are what samebytes' own are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import LayoutError, SamebytesError, UnknownNameError

ml_dtypes: Any = pytest.importorskip(
    "ml_dtypes", reason="missing package ml_dtypes: pip install ml_dtypes"
)
SHAPE = (64, 64)


def names(kind: str) -> list[str]:
    """The ml_dtypes types of one kind: those that samebytes carries, packs, or has no name for."""
    found = []
    for name, type_ in vars(ml_dtypes).items():
        if isinstance(type_, type) and issubclass(type_, np.generic):
            try:
                known = samebytes.dtype(name)
                is_kind = "packed" if known.packed else "carried"
            except UnknownNameError:
                is_kind = "unknown"
            if is_kind == kind:
                found.append(name)
    return found


CARRIED = names("carried")


def both(name: str) -> tuple[samebytes.Tensor, samebytes.Tensor]:
    """A tensor of samebytes' own, and one over an array of numpy's on the same bytes."""
    own = samebytes.context("cpu").allocate(SHAPE, name)
    own.native[...] = np.arange(own.native.size).reshape(SHAPE) % 120
    return own, samebytes.tensor(own.native.view(getattr(ml_dtypes, name)))


def outcome(tensor: samebytes.Tensor, node: str) -> tuple[Any, ...]:
    """The outcome of a mapping: its element type and bytes, or the error."""
    try:
        with tensor.map(node, copy=True) as there:
            back = there.map("cpu", copy=True)
            return there.dtype, there.shape, back.dtype, back.native.tobytes()
    except SamebytesError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.usefixtures("devices")
def test_every_edge_takes_them_as_it_takes_our_own_memory(name: str) -> None:
    own, wrapped = both(name)
    assert wrapped.native.dtype == own.native.dtype
    edges = [edge for plugin in samebytes.installed_plugins() for edge in plugin.edges]
    nodes = {e.target for e in edges if (e.source, e.level) == ("cpu", "tensor")}
    assert {"openvino", "opencl", "openvino:NPU", "level_zero"} <= nodes
    for node in sorted(nodes):
        assert outcome(wrapped, node) == outcome(own, node), node


@pytest.mark.parametrize("name", CARRIED)
def test_they_are_wrapped_alike_each_time(name: str) -> None:
    """The second array of a dtype is wrapped as the first is."""
    array = np.ones((3, 4), getattr(ml_dtypes, name))
    for given in (array, array, array[:, ::2], array.view(np.ndarray), memoryview_of(array)):
        tensor = samebytes.tensor(given)
        assert str(tensor.dtype) == name
        assert tensor.native.dtype == tensor.dtype.carrier
        assert np.shares_memory(tensor.native, array)


def memoryview_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An equal array on the same bytes, which lie in a buffer as numpy sees them."""
    return np.frombuffer(array.view(np.uint8).data, array.dtype).reshape(array.shape)


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_array_libraries_take_them(name: str, library: str) -> None:
    module: Any = pytest.importorskip(
        library, reason=f"missing package {library}: pip install {library}"
    )
    own, wrapped = both(name)
    take = module.from_dlpack if library == "torch" else module.numpy.from_dlpack

    def taken(tensor: samebytes.Tensor) -> str:
        try:
            found = take(tensor)
        except Exception as error:  # the library lacks the type
            return str(error)
        return f"{found.dtype} {samebytes.tensor(found).native.tobytes()!r}"

    assert taken(wrapped) == taken(own)


@pytest.mark.parametrize("name", names("packed"))
def test_what_numpy_does_not_pack_is_refused_with_a_remedy_that_works(name: str) -> None:
    array = np.ones((2, 8), getattr(ml_dtypes, name))
    with pytest.raises(LayoutError) as raised:
        samebytes.tensor(array)
    assert f'samebytes.context("cpu").allocate(a.shape, "{name}").native' in str(raised.value)
    remedy = samebytes.context("cpu").allocate(array.shape, name)
    remedy.native[...] = 0x11
    assert str(remedy.dtype) == name
    assert remedy.shape == array.shape


@pytest.mark.parametrize("name", names("unknown"))
def test_what_has_no_name_here_is_refused_with_a_remedy_that_works(name: str) -> None:
    array = np.ones((2, 8), getattr(ml_dtypes, name))
    with pytest.raises(LayoutError, match=r"pass the bytes of its elements, a.view\('uint8'\)"):
        samebytes.tensor(array)
    assert samebytes.tensor(array.view("uint8")).info.nbytes == array.nbytes
