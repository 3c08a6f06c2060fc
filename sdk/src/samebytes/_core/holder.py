# SPDX-License-Identifier: Apache-2.0
"""Holder: the base of Tensor and Frame, with flush(), wait(), close() and the `with` block."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .closing import drop, end
from .storage import Storage, outwards, publish, settle
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
    # What close() looks for: the storages which the call that made this object made.
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
        """True if close() ended this object."""
        return False  # the class of a closed one says True

    def flush(self) -> None:
        """Publish what was written through this mapping, without ending it."""
        publish(self._owners())

    def wait(self) -> None:
        """Return when whatever still writes to this memory is done."""
        settle(self._owners())

    def close(self) -> bool | None:
        """End this object. It never fails because others hold the memory, which goes with them.

        Closing twice does nothing. Memory that belongs to the user is dropped, not released.

        Returns:
            True if all that this object's own map() or allocate() made is gone, False if somebody
            holds a part of it, None if it made nothing or was closed before.

        Raises:
            Exception: what a driver's release raised; the object is closed, and all releases ran.
        """
        return end(self, self._holders())

    def __enter__(self) -> Self:
        _ = self._made  # a closed object cannot be entered
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Publish what was written and close; see "The end of a block" in docs/explanation.

        Where something else uses the memory, the last holder releases it. After an exception
        nothing is published.
        """
        if self.closed:
            return
        if kind is not None:
            drop(self._holders())
            return
        owners = () if self._is_reading() else self._owners()
        living = [weakref.ref(storage) for storage in outwards(owners)]
        del owners
        try:
            self.close()
        finally:
            # What has ended was published by its release; what lives on comes after it.
            publish(filter(None, [storage() for storage in living]))

    @abstractmethod
    def _is_reading(self) -> bool:
        """`readonly` as it was set: backends put a property before it that asks their framework."""

    @abstractmethod
    def _owners(self) -> tuple[Any, ...]:
        """Everything that keeps bytes of this object alive."""

    @abstractmethod
    def _holders(self) -> list[Holder]:
        """This object and its open planes, which close with it."""

    def _on_closed(self) -> None:
        """Called when the object was closed and holds nothing any more; it may be called twice."""
