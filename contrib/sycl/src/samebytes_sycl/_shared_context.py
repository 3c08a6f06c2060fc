# SPDX-License-Identifier: Apache-2.0
"""Helpers for the edges to the APIs under SYCL: one native context, two queues."""

from __future__ import annotations

from collections.abc import Callable

from samebytes import Tensor
from samebytes.errors import UnknownNameError
from samebytes.plugins import Context, Refused, ordering_queue

__all__ = ["check_same", "wait_for"]


def check_same(source: Context, target: Context, key: str) -> None:
    """Refuse unless both contexts have the native context `key`, and it is one."""
    handles = []
    for context in (source, target):
        try:
            handles.append(context.handle(key))
        except UnknownNameError as error:
            raise Refused(f"{context!r} has no {key}: {error}") from error
    ours, theirs = handles
    if ours != theirs:
        other = source if target.node == "sycl" else target
        raise Refused(
            f"it belongs to the {key} {ours:#x}, the target is on {theirs:#x}: USM is valid only "
            f"in its own. Use the context sycl_context.derive({other.node!r})"
        )


def wait_for(item: Tensor, *queues: Callable[[], object]) -> None:
    """Let what was enqueued on both sides be done, unless the caller orders it."""
    if ordering_queue() is None:
        item.wait()
        for wait in queues:
            wait()
