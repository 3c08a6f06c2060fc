# SPDX-License-Identifier: Apache-2.0
"""Memory whose release is visible: separate pages that a test watches."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Storage

from . import made_up as made_up_types

CPU = sb.context("cpu")


class Pages:
    """Memory that counts its releases, and stays mapped so that tests cannot crash."""

    def __init__(self, nbytes: int = mmap.PAGESIZE) -> None:
        self.array = np.zeros(nbytes, np.uint8)
        self.released = 0

    def release(self) -> None:
        """The release function of the storage."""
        self.released += 1

    def storage(self) -> Storage:
        """A new owner of the memory."""
        address = self.array.__array_interface__["data"][0]
        return Storage(self.release, address=address, nbytes=self.array.nbytes)

    def tensor(self, shape: tuple[int, ...] = (16, 16)) -> CpuTensor:
        """An owned tensor over the pages."""
        storage = self.storage()
        array: np.ndarray[Any, Any] = np.asarray(storage)[: int(np.prod(shape))].reshape(shape)
        return CpuTensor.owned(array, CPU, storage)


@pytest.fixture
def pages() -> Pages:
    """One page, to be wrapped in an owned tensor."""
    return Pages()


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the plugins after a test that calls `made_up.install`."""
    made_up_types.Mapped.released.clear()
    yield
    monkeypatch.undo()
    sb.refresh()
    made_up_types.forget()
