# SPDX-License-Identifier: Apache-2.0
"""close(): give memory back if, and only if, nobody else holds it.

numpy does not tell whether views of an array live (`memoryview.release()` ignores them), so the
question is put to the storage itself: drop every reference of ours, then see through a weak
reference whether it is still there. If so, everything is put back as it was.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from ..errors import BusyError
from .closed import drop_extras
from .storage import Storage, dismantle, revive

__all__ = ["Closable", "NativeLostError", "end"]


class NativeLostError(RuntimeError):
    """A native object died with the last reference to it while its memory is still held."""


class Closable(Protocol):
    """A Tensor or Frame, as far as closing goes."""

    def _recipe(self, ending: frozenset[int]) -> Any:
        """What `_restore` needs. It holds none of the storages whose ids are in `ending`."""

    def _forget(self) -> None:
        """Drop every reference, and be closed."""

    def _restore(self, recipe: Any, storages: dict[int, Storage]) -> None:
        """Be as before. `storages` maps the ids of the former storages to the present ones."""


def end(holders: Sequence[Closable], made: tuple[Storage, ...]) -> None:
    """Strip `holders` and release the storages `made`, the last one first.

    Raises:
        BusyError: one of `made` has other holders; nothing has changed then.
    """
    made = _with_those_between(made)
    refs = [weakref.ref(s) for s in made]
    ids = [id(s) for s in made]
    # All that can fail comes before anything is changed.
    holder_recipes = [h._recipe(frozenset(ids)) for h in holders]
    recipes = [dismantle(s) for s in made]
    # A recipe must not itself hold a storage that should end: such a link is kept by position.
    links = [ids.index(id(r["keep"])) if id(r["keep"]) in ids else None for r in recipes]
    for recipe, link in zip(recipes, links, strict=True):
        if link is not None:
            recipe["keep"] = None
    del made
    for holder in holders:
        holder._forget()

    living = [ref() for ref in refs]
    if all(s is None for s in living):
        for holder in holders:
            drop_extras(holder)
        with ExitStack() as releases:  # runs the last one first, and all of them if one raises
            for recipe in recipes:
                if recipe["release"] is not None:
                    releases.callback(recipe["release"])
        return

    present: list[Storage] = []
    for storage, recipe, link in zip(living, recipes, links, strict=True):
        if link is not None:
            recipe["keep"] = present[link]
        present.append(revive(storage, recipe))
    storages = dict(zip(ids, present, strict=True))
    restored: list[Closable] = []
    lost = ""
    try:
        for holder, parts in zip(holders, holder_recipes, strict=True):
            holder._restore(parts, storages)
            restored.append(holder)
    except NativeLostError as error:
        lost = str(error)
    if lost:
        # Whoever held the memory may have let go of it just now, in another thread.
        for holder in restored:
            holder._forget()
        storage = None
        living.clear()
        present.clear()
        storages.clear()
        for recipe in recipes:
            recipe.clear()
        if any(ref() is not None for ref in refs):
            raise NativeLostError(lost)
        for holder in holders:
            drop_extras(holder)
        return
    raise BusyError(
        "close(): an array, a slice, a DLPack capsule, a mapped tensor or a native object still "
        "uses this memory; drop it first (a reference cycle holds it until gc.collect()), or drop "
        "this tensor and let the last holder release it"
    )


def _with_those_between(made: tuple[Storage, ...]) -> tuple[Storage, ...]:
    """`made`, and what lies between two of them, which holds the one and is held by the other.

    A backend may let several mappings share one storage, which is none of theirs alone. While it
    lives, the storage that it lies in could not end.
    """
    ending = {id(s) for s in made}
    whole: dict[int, Storage] = {}
    for storage in made:
        between: list[Storage] = []
        keep = storage.keep
        while isinstance(keep, Storage) and id(keep) not in ending:
            between.append(keep)
            keep = keep.keep
        if isinstance(keep, Storage):
            whole.update((id(s), s) for s in reversed(between))
        whole[id(storage)] = storage
    return tuple(whole.values())
