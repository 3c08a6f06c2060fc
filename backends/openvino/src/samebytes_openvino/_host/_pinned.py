# SPDX-License-Identifier: Apache-2.0
"""The openvino.Tensor that we hand out."""

from __future__ import annotations

from typing import Any, ClassVar

import openvino

from samebytes.errors import AccessError
from samebytes.plugins import sweep_loans

from ._uses import HEAD, USES, WORDS, is_known, keep_used, other_uses, waiting

__all__ = ["PinnedTensor", "ReadOnlyTensor", "tensor_class"]


class PinnedTensor(openvino.Tensor):
    """An openvino.Tensor that keeps its memory alive by itself, and knows if it is read-only.

    A tensor over an array holds the array, but only as a Python object: a region that is cut out
    of it, and an openvino.InferRequest that it is set on, hold OpenVINO's part of it, which knows
    the address alone. So where OpenVINO still uses it when its last Python holder is gone, it is
    kept until OpenVINO does not.

    Attributes:
        pin: what the memory lies in, if it is a region of another tensor.
        readonly: it may not be written through; kept when samebytes wraps it again.
    """

    __slots__ = ("pin",)

    pin: Any
    readonly: ClassVar[bool] = False

    if is_known():
        # `other_uses`, spelled out: it runs for each tensor.
        def __del__(
            self, words: Any = WORDS, address: Any = id, head: int = HEAD, uses: int = USES
        ) -> None:
            try:
                tensor = words[(address(self) + head) >> 3]
                # 0 if its constructor raised.
                if not tensor or words[(words[(tensor + 8) >> 3] + 8) >> 3] & uses == 1:
                    if waiting:
                        sweep_loans()
                    return
            except BaseException:  # of a signal handler
                keep_used(self, other_uses)
                raise
            keep_used(self, other_uses)

    def copy_to(self, target_tensor: Any) -> None:
        """As openvino.Tensor does, where the target may be written.

        Args:
            target_tensor: of the same shape and element type.

        Raises:
            AccessError: the target is a read-only tensor of samebytes'.
        """
        if isinstance(target_tensor, ReadOnlyTensor):
            raise _no_writing("copy_to() into")
        super().copy_to(target_tensor)


class ReadOnlyTensor(PinnedTensor):
    """A tensor whose memory may not be written, and may be mapped so that writing is a signal.

    OpenVINO has no such tensors. What Python can see is an error here: `data` is a read-only
    array, and nothing can be copied into the tensor. C++ writes to it all the same, where it is
    the output of an openvino.InferRequest, or the target of an openvino.Tensor's copy_to().
    """

    __slots__ = ()

    readonly: ClassVar[bool] = True

    @property
    def data(self) -> Any:
        """An array over the elements, which cannot be written."""
        array = super().data
        array.flags.writeable = False
        return array

    def copy_from(self, *arguments: Any, **named: Any) -> None:
        """Nothing can be copied into it.

        Args:
            arguments: as of `openvino.Tensor.copy_from`.
            named: the same, by name.

        Raises:
            AccessError: always.
        """
        raise _no_writing("copy_from() of")


def tensor_class(readonly: bool) -> type[PinnedTensor]:
    """The class of tensors that may be written, or of those that may not."""
    return ReadOnlyTensor if readonly else PinnedTensor


def _no_writing(what: str) -> AccessError:
    return AccessError(
        f"{what} a read-only openvino.Tensor: its memory was received, sent, or mapped with access "
        '"r"; map what it comes from with access "w" or "rw" if that may be written'
    )
