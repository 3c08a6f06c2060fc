# SPDX-License-Identifier: Apache-2.0
"""The rules for the context of one node: one object, and memory that is given back."""

from __future__ import annotations

from functools import partial

from ..._core.context import Context
from ..._plugins.specs import ContextSpec
from ...errors import SamebytesError
from ...testing.rules.allocation import (
    allocated_as_asked,
    close_gives_back,
    refused_close_touches_nothing,
)
from ...testing.rules.contexts import context_closes, one_context
from ...testing.rules.footprint import nothing_stays_of_memory
from ...testing.rules.lifetimes import array_keeps_its_memory
from ...testing.rules.readonly import identity_is_readonly
from ...testing.rules.regions import regions
from ...testing.rules.sizes import sizes_of_frames, sizes_of_tensors
from .reporting import Report
from .samples import IMAGES, SIDE, Allocated, Regions, context_of

__all__ = ["check"]

_SHAPE = (64, 64)
_MEGABYTE = (1024, 1024)


def check(report: Report, spec: ContextSpec, plugin: str) -> None:
    """Make the context of a node, allocate in it, close it."""
    make = partial(context_of, spec, plugin)
    if not report.tries(one_context, spec.node, make):
        return
    context = make()
    if report.tries(allocated_as_asked, spec.node, context, _SHAPE, "uint8"):
        _check_memory(report, spec, context)
    _check_frames(report, spec, context)
    if not context.singleton:
        report.tries(context_closes, spec.node, make)


def _check_memory(report: Report, spec: ContextSpec, context: Context) -> None:
    report.tries(sizes_of_tensors, spec.node, context)
    tensors = Allocated(context, lambda: context.allocate(_SHAPE, "uint8"))
    _check_objects(report, spec.node, tensors)
    report.tries(regions, spec.node, Regions(partial(context.allocate, _SHAPE, "uint8")))
    report.tries(
        nothing_stays_of_memory, spec.node,
        lambda: context.allocate(_MEGABYTE, "uint8").close(),
        lambda: context.allocate(_MEGABYTE, "uint8"), nbytes=1 << 20,
    )  # fmt: skip


def _check_frames(report: Report, spec: ContextSpec, context: Context) -> None:
    """The same rules for frames, where the context allocates any."""
    for name in IMAGES:
        try:
            context.allocate_frame(name, SIDE, SIDE).close()
        except SamebytesError:
            continue
        report.tries(sizes_of_frames, spec.node, context, name)
        frames = Allocated(context, partial(context.allocate_frame, name, SIDE, SIDE))
        _check_objects(report, f"{spec.node}, {name} frames", frames)
        return


def _check_objects(report: Report, subject: str, made: Allocated) -> None:
    report.tries(close_gives_back, subject, made)
    report.tries(refused_close_touches_nothing, subject, made)
    report.tries(array_keeps_its_memory, subject, made)
    report.tries(identity_is_readonly, subject, made.allocate())
