# SPDX-License-Identifier: Apache-2.0
"""RemoteTensor: a tensor in the memory of a device, as OpenVINO knows it."""

from __future__ import annotations

import weakref
from typing import Any

from samebytes.plugins import Storage, Tensor

from ._values import params_of

__all__ = ["RemoteTensor", "pin"]

# openvino.RemoteTensor has no place for a pin, and a subclass could only be made as a region,
# which the GPU plugin copies. An entry lives as long as the native object.
_pins: weakref.WeakKeyDictionary[Any, Storage] = weakref.WeakKeyDictionary()


def pin(native: Any, storage: Storage) -> Any:
    """`native`, which from now on keeps `storage` alive.

    OpenVINO retains a cl_mem. It does not keep USM, host memory, surfaces or displays.
    """
    _pins[native] = storage
    return native


class RemoteTensor(Tensor):
    """A tensor in a remote context. `native` is an openvino.RemoteTensor.

    The CPU cannot read it where it lies. OpenVINO has no read-only tensors: where `readonly` is
    True, the flag is all there is. `given_info` is always set, since an openvino.RemoteTensor does
    not tell its element type.
    """

    __slots__ = ()

    @property
    def params(self) -> dict[str, int | str]:
        """What OpenVINO tells of it, pointers as ints: SHARED_MEM_TYPE, MEM_HANDLE ..."""
        return params_of(self.native)
