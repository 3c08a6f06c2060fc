# SPDX-License-Identifier: Apache-2.0
"""Negotiation of an element with its neighbours in GStreamer: pattern, frames and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import samebytes as sb
import samebytes.elements as el
from samebytes import Access, Context
from samebytes.errors import NegotiationError, SamebytesError

from .._buffers.element_context import context_of
from .._buffers.frame import GStreamerFrame
from .caps import patterns_of

__all__ = ["agreement", "context_near", "targets"]


def agreement(element: Any, given: el.FrameInfo) -> tuple[el.Media, el.FrameInfo]:
    """The first pattern that fits the frames that come, and the frames that the element will give.

    Raises:
        NegotiationError: none fits.
        ValueError: the element refuses them; its text gives the reason.
    """
    patterns = patterns_of(element, "takes") or ()
    for pattern in patterns:
        if pattern.why_not(given) is None:
            break
    else:
        takes = " or ".join(map(str, patterns))
        reasons = [f"{pattern}: {pattern.why_not(given)}" for pattern in patterns]
        raise NegotiationError(element.name, f"it receives {given}; it takes {takes}", "", reasons)
    memory = next(iter(pattern.memories), given.memory)
    answer = element.negotiate(replace(given, memory=memory))
    if not isinstance(answer, el.FrameInfo):
        raise NegotiationError(element.name, f"negotiate() returned {answer!r}, not a FrameInfo")
    return pattern, answer


def context_near(neighbour: Any, name: str) -> Context:
    """The context of that name, on the device of the surrounding elements if they have one.

    Args:
        neighbour: a Gst.Element.
        name: the name of the context.

    Raises:
        SamebytesError: there is none.
    """
    if name not in ("cpu", "gstreamer"):
        with suppress(SamebytesError):
            return context_of(neighbour).derive(name)
    return sb.context(name)


def targets(
    names: Iterable[str],
    frame: GStreamerFrame,
    access: Access,
    contexts: Mapping[str, Context],
    *,
    copy: bool,
) -> list[Any]:
    """The targets to which an element's frames can be mapped, cheapest first.

    Args:
        names: the memories that it takes.
        frame: one of them.
        access: the access of the mapping.
        contexts: the open contexts, by name.
        copy: whether copies are allowed.
    """
    found: list[tuple[float, Any]] = []
    for name in names:
        target = _target(name, frame, contexts)
        try:
            cost = sb.route(frame, target, access=access, copy=copy).cost
        except SamebytesError:
            cost = float("inf")  # mapping will say why
        found.append((cost, target))
    return [target for _, target in sorted(found, key=lambda one: one[0])]


def _target(name: str, frame: GStreamerFrame, contexts: Mapping[str, Context]) -> Any:
    # Surfaces come with their device, which open() may not have seen yet.
    if frame.context.node != "gstreamer":
        with suppress(SamebytesError):
            return frame.context.derive(name)
    return contexts.get(name, name)
