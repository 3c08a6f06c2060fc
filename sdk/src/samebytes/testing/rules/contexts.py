# SPDX-License-Identifier: Apache-2.0
"""Rules for contexts: one for the same handles, and memory that outlives their close()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.edges.context import Context
from ...errors import ClosedError, UnsupportedObjectError
from .book import BrokenRule, NotChecked, rule
from .contents import SAMEBYTES
from .subjects import same

__all__ = ["context_closes", "one_context"]

_SHAPE = (64, 64)


@rule(
    "9.1",
    "a node has one context for the same handles",
    means="memory of one context does not work in the other, and routes are compiled twice",
    do="create() returns the singleton; or a context whose handles= are those of a native object "
    "that it looks up before it makes one",
)
def one_context(make: Callable[[], Context]) -> None:
    """Ask for the context twice.

    Raises:
        NotChecked: `make` cannot make any here.
    """
    context = make()
    if make() is not context:
        raise BrokenRule("asked for twice, there are two of them")
    if hash(context) != hash(make()):
        raise BrokenRule("its hash changes")


@rule(
    "2.5",
    "a context closes, and its memory lives on",
    means="closing a context makes arrays of it unusable, or does nothing",
    do="only calls that make memory use check_open(); a context keeps its native handles until "
    "nothing refers to it, and _on_close() removes it from tables in which others would find it",
)
def context_closes(make: Callable[[], Context]) -> None:
    """Close a context that has memory, and see that users of the memory lose nothing.

    The context must then be closed, unless it is shared or in use by a block.
    """
    context = make()
    if context.shared:
        context.close()
        context.check_open()
        if make() is not context:
            raise BrokenRule("a shared context comes as another one after close()")
        return
    tensor, values = None, None
    try:
        tensor = context.allocate(_SHAPE, "uint8")
        values = SAMEBYTES.write(tensor, 3)
    except (UnsupportedObjectError, NotChecked):
        pass
    with context:
        # As other components do: they get the same context.
        with make() as other:
            pass
        other.close()
        if context.closed:
            raise BrokenRule("close() by one component ends a `with` block of another")
    for use in (context.check_open, lambda: context.derive(context.node)):
        try:
            use()
        except ClosedError:
            continue
        raise BrokenRule("it is still open after close()")
    context.close()
    fresh = make()
    if fresh is context:
        raise BrokenRule("asked for again, the closed one comes back")
    fresh.check_open()
    if tensor is not None:
        _goes_on(tensor, values)


def _goes_on(tensor: Any, values: Any) -> None:
    """Require that memory outlives the close() of its context, which then refuses to allocate."""
    for kept in (tensor, tensor.map(tensor.context)):
        kept.flush()
        kept.wait()
        try:
            seen = None if values is None else SAMEBYTES.read(kept)
        except NotChecked:  # no mapping leads to the CPU from there
            continue
        if seen is not None and not same(values, seen):
            raise BrokenRule("memory that was allocated before changed with its close()")
    try:
        tensor.context.allocate(_SHAPE, "uint8")
    except ClosedError:
        return
    raise BrokenRule("it still allocates after close()")
