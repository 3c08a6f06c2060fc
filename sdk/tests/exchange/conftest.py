# SPDX-License-Identifier: Apache-2.0
"""Producers that the tests of this folder share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes._dtypes import DType
from samebytes._exchange import dlpack
from samebytes._exchange._capsule_contents import content as content_of
from samebytes._exchange._dlpack_abi import (
    LEGACY_NAME,
    VERSIONED_NAME,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that old versions of numpy cannot pass."""
    config.addinivalue_line(
        "markers", "writable_dlpack: numpy.from_dlpack gives arrays that can be written"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests before numpy 2.2.5, which makes every such array read-only."""
    if np.lib.NumpyVersion(np.__version__) >= "2.2.5":
        return
    skip = pytest.mark.skip(reason="missing package numpy>=2.2.5: pip install --upgrade numpy")
    for item in items:
        if item.get_closest_marker("writable_dlpack"):
            item.add_marker(skip)


_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_INTEGERS = ctypes.POINTER(ctypes.c_int64)

# The objects that C structures refer to, by the address of the managed tensor.
_living: dict[int, tuple[Any, ...]] = {}


def _delete(managed: int) -> None:
    producer = _living.pop(managed)[0]
    producer.deleted += 1


def _destroy(capsule: int) -> None:
    for name in (LEGACY_NAME, VERSIONED_NAME):
        if _is_valid(capsule, name):
            _delete(_get_pointer(capsule, name))


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_delete)
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy)


class RawProducer:
    """A DLPack producer in ctypes, every field of which can be set to right or wrong values.

    `deleted` counts how often its deleter ran; a second run for one tensor is a KeyError.
    """

    def __init__(
        self,
        data: int = 0,
        shape: tuple[int, ...] | None = (),
        strides: tuple[int, ...] | None = None,
        *,
        code: int = 1,
        bits: int = 8,
        lanes: int = 1,
        ndim: int | None = None,
        device: int = 1,
        claimed_device: int = 1,
        byte_offset: int = 0,
        versioned: bool = True,
        major: int = 1,
        flags: int = 0,
        keep: object = None,
    ) -> None:
        self.deleted = 0
        self.calls: list[dict[str, Any]] = []
        self.claimed_device = claimed_device
        self.versioned = versioned
        self.version = DLPackVersion(major, 0)
        self.raw_flags = flags
        self.keep = keep
        tensor = self.tensor = DLTensor(
            data=data,
            device=DLDevice(device, 0),
            ndim=len(shape or ()) if ndim is None else ndim,
            dtype=DLDataType(code, bits, lanes),
            byte_offset=byte_offset,
        )
        if shape:
            self._shape = (ctypes.c_int64 * len(shape))(*shape)
            tensor.shape = ctypes.cast(self._shape, _INTEGERS)
        if strides:
            self._strides = (ctypes.c_int64 * len(strides))(*strides)
            tensor.strides = ctypes.cast(self._strides, _INTEGERS)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.claimed_device, 0)

    def __dlpack__(self, **arguments: Any) -> object:
        self.calls.append(arguments)
        if arguments and not self.versioned:
            raise TypeError("an old producer takes no arguments")
        managed: Any = DLManagedTensorVersioned() if self.versioned else DLManagedTensor()
        managed.dl_tensor = self.tensor
        managed.deleter = ctypes.cast(_deleter, ctypes.c_void_p)
        if self.versioned:
            managed.version = self.version
            managed.flags = self.raw_flags
        address = ctypes.addressof(managed)
        _living[address] = (self, managed)
        name = VERSIONED_NAME if self.versioned else LEGACY_NAME
        return _new(address, name, ctypes.cast(_destructor, ctypes.c_void_p))


class Exporter:
    """An object whose `__dlpack__` is the exporter under test, as a host tensor's is."""

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType, **settings: Any) -> None:
        self.array = array
        self.dtype = dtype
        self.settings = settings

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **arguments: Any) -> object:
        return dlpack(self.array, self.dtype, **self.settings, **arguments)


@pytest.fixture
def raw_producer() -> Callable[..., Any]:
    """RawProducer."""
    return RawProducer


@pytest.fixture
def exporter() -> Callable[..., Any]:
    """Exporter."""
    return Exporter


@pytest.fixture
def content() -> Callable[[object], Any]:
    """A function that reads a living capsule: its DLTensor, True if it has a version, its flags."""
    return content_of
