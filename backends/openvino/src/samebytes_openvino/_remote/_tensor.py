# SPDX-License-Identifier: Apache-2.0
"""RemoteTensor: a tensor in the memory of OpenVINO's GPU or NPU plugin."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import DType, Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError

from .._host._element_types import from_element_type
from ._leases import native_of
from ._values import params_of

if TYPE_CHECKING:
    from typing import Self

    from ._leases import Leftovers

__all__ = ["RemoteTensor", "layout_of", "native_in"]

# The one place where an openvino.RemoteTensor shows its element type:
# "<RemoteTensor: shape[1,16] type: f32>", with a prefix for subclasses.
_REPR = re.compile(r"shape\[([\d,]*)\] type: (\w+)")

# Kinds of device, and where in this package their tensors are wrapped.
_WRAPPERS = {"GPU": "intel_gpu._context", "NPU": "intel_npu._context"}


def layout_of(native: Any) -> tuple[DType, tuple[int, ...]]:
    """dtype and shape of an openvino.RemoteTensor.

    Raises:
        LayoutError: its elements are strings.
        UnsupportedObjectError: this OpenVINO writes them in a way that is not known here.
    """
    found = _REPR.search(repr(native))
    theirs = getattr(openvino.Type, found[2], None) if found else None
    if found is None or theirs is None:
        raise UnsupportedObjectError(
            f"the element type of {native!r} is not known: pass the tensor that samebytes made"
        )
    shape = tuple(int(n) for n in found[1].split(",")) if found[1] else ()
    return from_element_type(theirs), shape


class RemoteTensor(Tensor):
    """A tensor in a remote context. `native` is an openvino.RemoteTensor.

    OpenVINO has no read-only tensors: where `readonly` is True, the flag is all there is.
    """

    __slots__ = ()

    native: openvino.RemoteTensor

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's openvino.RemoteTensor.

        What it was made over must live as long as it is used: OpenVINO keeps a cl_mem, but no
        USM, host memory or surface. Tensors that samebytes made keep those as well.

        Raises:
            UnsupportedObjectError: it is of another device than a GPU or an NPU.
            LayoutError: its elements are strings.
        """
        name = native.get_device_name()
        home = _WRAPPERS.get(name.partition(".")[0])
        if home is None:
            raise UnsupportedObjectError(f"remote tensors of {name!r} are not supported")
        wrapped: Self = import_module(f"samebytes_openvino.{home}").wrap(native)
        return wrapped

    def _again(self, readonly: bool) -> Self:
        """This very tensor, again."""
        return type(self).borrowed(
            self._held_native,
            self.context,
            keep=self.storage,
            readonly=readonly,
            info=self.known_info,
            parent=self,
        )

    @property
    def _held_native(self) -> Any:
        """The native, or the lease of it."""
        return self.native

    @property
    def _lent_native(self) -> Any:
        """`native` for this package, which uses it while the tensor lives: see `_leases`."""
        return native_of(self._held_native)

    @property
    def params(self) -> dict[str, int | str]:
        """The properties reported by OpenVINO, pointers as ints: SHARED_MEM_TYPE, MEM_HANDLE ..."""
        return params_of(self._lent_native)

    def _replaced(self, leftovers: Leftovers) -> None:
        """Note that another tensor took its place on a request; for this package's requests.

        Args:
            leftovers: of that request.
        """

    def _describe(self) -> TensorInfo:
        return TensorInfo(*layout_of(self._lent_native))


def native_in(tensor: Tensor) -> Any:
    """The native of any tensor, for calls of this package that end before the tensor does."""
    return tensor._lent_native if isinstance(tensor, RemoteTensor) else tensor.native
