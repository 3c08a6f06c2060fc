# SPDX-License-Identifier: Apache-2.0
"""Memory that counts its releases, and whose use after release ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from samebytes import Storage, TensorInfo

__all__ = ["GuardedMemory"]

_PROT_NONE = 0  # sys/mman.h

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedMemory:
    """Arrays on pages that cannot be accessed once the last holder of an array is gone.

    Released pages stay mapped, without any permission, so that no other memory takes their
    addresses: a later access gets SIGSEGV instead of the bytes of another object.

    Attributes:
        releases: how often the memory was released; more than once is an error too.
    """

    def __init__(self) -> None:
        self.releases = 0
        self._pages: mmap.mmap | None = None
        self._address = 0

    def arrays(self, infos: Sequence[TensorInfo]) -> tuple[np.ndarray[Any, Any], ...]:
        """New zeroed arrays of those layouts, one after another on the same pages. Call it once.

        Args:
            infos: the layouts.
        """
        assert self._pages is None, "one GuardedMemory holds one set of arrays"
        starts, end = [], 0
        for info in infos:
            low, high = info.extent
            starts.append(end - low)
            end += -(-(high - low) // 64) * 64
        self._pages = mmap.mmap(-1, max(end, 1))
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        whole = np.asarray(Storage(self._release, address=self._address, nbytes=max(end, 1)))
        return tuple(
            np.ndarray(info.shape, info.dtype.carrier, whole, start, info.strides)
            for info, start in zip(infos, starts, strict=True)
        )

    @property
    def released(self) -> bool:
        """True if the memory was released."""
        return self.releases > 0

    def _release(self) -> None:
        assert self._pages is not None
        self.releases += 1
        if _libc.mprotect(self._address, len(self._pages), _PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
