# SPDX-License-Identifier: Apache-2.0
"""What tensors and frames have in common: they hold memory, and end."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .storage import Storage, settle
from .uncopyable import Uncopyable

if TYPE_CHECKING:
    from typing import Self

    from .context import Context

__all__ = ["Holder"]


class Holder(Uncopyable):
    """The base of Tensor and Frame."""

    __slots__ = ()

    context: Context
    # What keeps the bytes alive: a Storage, or the user's object (see `storage`).
    _owner: Any
    # The storages that close() ends: those which the call that made this object made.
    _made: tuple[Storage, ...]

    @property
    def memory_type(self) -> str:
        """The name of the memory type, for instance "cpu"."""
        return self.context.memory_type

    @property
    def storage(self) -> Storage:
        """The owner of the bytes. Memory wrapped from the user has one that releases nothing."""
        owner = self._owner
        if not isinstance(owner, Storage):
            owner = self._owner = Storage(keep=owner)
        return owner

    @property
    def closed(self) -> bool:
        """Whether close() ended this object."""
        return False  # the class of a closed one says True

    def wait(self) -> None:
        """Return when whatever still writes to this memory is done."""
        settle(self._owner)

    @abstractmethod
    def close(self) -> None:
        """End this object, and the memory that was made for it."""

    def __enter__(self) -> Self:
        _ = self._made  # a closed object cannot be entered
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            self.close()
        except BufferError:
            # The traceback of the user's own error holds the arrays: it must not be masked.
            if kind is None:
                raise
