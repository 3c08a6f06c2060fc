# SPDX-License-Identifier: Apache-2.0
"""Resolve memory types to contexts: the elements of a pipeline settle on one device context."""

from __future__ import annotations

from .._core.edges.context import Context
from .._routing.contexts import context, find_spec, sharing

__all__ = ["Contexts"]


class Contexts:
    """The contexts of one pipeline. They live as long as it does."""

    def __init__(self) -> None:
        self._known: list[Context] = []

    def find(self, name: str, near: Context | None = None) -> Context:
        """The context of that name that the pipeline has, or one that shares handles with others.

        Args:
            name: a memory type, or "type:device".
            near: the context of the frames that go there; the new one shares its handles, if it
                can.

        Raises:
            UnknownNameError: no plugin declares it.
            AmbiguousTargetError: it has several devices; say which.
        """
        spec, device = find_spec(name)
        found = None
        if near is not None and near.node != spec.node:
            found = sharing([near], spec, device)
        if found is None:
            open_ = [one for one in self._known if not one.closed]
            found = self.of_node(name) or sharing(open_, spec, device) or context(name)
        return self.add(found)

    def add(self, context: Context) -> Context:
        """Add a context that came with a frame, for other elements to settle on."""
        if not any(known is context for known in self._known):
            self._known.append(context)
        return context

    def of_node(self, node: str) -> Context | None:
        """The context of a node that the pipeline knows first; None where it knows none."""
        return next((one for one in self._known if one.node == node and not one.closed), None)
