# SPDX-License-Identifier: Apache-2.0
"""Which context a memory type means in a pipeline: its elements settle on one device context."""

from __future__ import annotations

from contextlib import suppress

from .._core.context import Context
from .._routing.contexts import context, derive, find_spec
from ..errors import DeviceMismatchError, NoRouteError, UnknownNameError

__all__ = ["Contexts"]


class Contexts:
    """The contexts of one pipeline. They live as long as it does."""

    def __init__(self) -> None:
        self._known: list[Context] = []

    def find(self, name: str) -> Context:
        """The context of that name that the pipeline has, or one that shares handles with others.

        Raises:
            UnknownNameError: no plugin declares it.
            AmbiguousTargetError: it has several devices; say which.
        """
        for known in self._known:
            if known.node == name and not known.closed:
                return known
        spec, device = find_spec(name)
        found = None
        if device is None:
            for known in self._known:
                if known.node in spec.derives_from and not known.closed:
                    with suppress(DeviceMismatchError, NoRouteError, UnknownNameError):
                        found = derive(known, spec.node)
                        break
        return self.add(context(name) if found is None else found)

    def add(self, context: Context) -> Context:
        """Let others settle on a context that came with a frame."""
        if not any(known is context for known in self._known):
            self._known.append(context)
        return context
