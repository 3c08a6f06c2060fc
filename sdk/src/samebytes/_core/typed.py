# SPDX-License-Identifier: Apache-2.0
"""Show type checkers the classes of a context's tensors and frames.

    class ToyContext(HostContext["ToyTensor"]): ...         # its frames are Frame[ToyTensor]
    class ClipContext(Context["ToyTensor", "ToyFrame"]): ...

`map(ToyContext)`, or `map(toy)` with such a context, then returns a ToyTensor to mypy and pyright.
At run time the parameters do nothing: `tensor_class` and `frame_class` make the objects.
"""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Generic

__all__ = ["AnyFrame", "AnyTensor", "FrameT_co", "TensorT_co", "TypedContext", "TypedFrame"]

if TYPE_CHECKING:
    # Defaults of type variables are in typing from Python 3.13 on. The checkers know this module
    # without its being installed.
    from typing_extensions import TypeVar

    from .frame import Frame
    from .tensor import Tensor

    TensorT_co = TypeVar("TensorT_co", bound=Tensor, default=Tensor, covariant=True)
    FrameT_co = TypeVar("FrameT_co", bound=Frame, default=Frame[TensorT_co], covariant=True)
    # Those of functions.
    AnyTensor = TypeVar("AnyTensor", bound=Tensor, default=Tensor)
    AnyFrame = TypeVar("AnyFrame", bound=Frame, default=Frame)

    class TypedFrame(Generic[TensorT_co]):
        """The base of Frame: its parameter is the class of its planes."""

    class TypedContext(Generic[TensorT_co, FrameT_co]):
        """The base of Context: its parameters are the classes of its tensors and frames."""

else:
    from typing import TypeVar

    TensorT_co = FrameT_co = AnyTensor = AnyFrame = TypeVar("AnyTensor")

    class TypedFrame:
        """See above; subscripting leaves the class as it is."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    class TypedContext:
        """See above."""

        __class_getitem__ = classmethod(GenericAlias)
