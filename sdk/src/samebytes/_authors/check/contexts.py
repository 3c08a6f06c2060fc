# SPDX-License-Identifier: Apache-2.0
"""The rules for the context of one node: one object, and memory that is given back."""

from __future__ import annotations

from functools import partial

from ..._core.edges.context import Context
from ..._plugins.specs import ContextSpec
from ...errors import SamebytesError
from ...testing.rules.allocation import (
    allocated_as_asked,
    close_gives_back,
    held_memory_lives_on,
    living_memory_shares_no_byte,
    planes_share_no_byte,
)
from ...testing.rules.contexts import context_closes, one_context
from ...testing.rules.footprint import nothing_stays_of_memory
from ...testing.rules.lifetimes import array_keeps_its_memory
from ...testing.rules.readonly import identity_is_readonly, native_stays_readonly
from ...testing.rules.regions import regions
from ...testing.rules.sizes import sizes_of_frames, sizes_of_tensors
from .reporting import Report
from .samples import IMAGES, SIDE, Allocated, Regions, context_of, readonly_tensor

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
    with report.trying(native_stays_readonly, spec.node):
        native_stays_readonly(readonly_tensor(context.allocate(_SHAPE, "uint8")))
    report.tries(regions, spec.node, Regions(partial(context.allocate, _SHAPE, "uint8")))
    report.tries(
        nothing_stays_of_memory, spec.node,
        lambda: context.allocate(_MEGABYTE, "uint8").close(),
        lambda: context.allocate(_MEGABYTE, "uint8"), nbytes=1 << 20,
    )  # fmt: skip


def _check_frames(report: Report, spec: ContextSpec, context: Context) -> None:
    """The same rules for frames, where the context allocates any."""
    tried = False
    for name in IMAGES:
        subject = f"{spec.node}, {name} frames"
        frames = _frames(context, name, SIDE)
        if frames is None:
            continue
        # Rows that are padded, where the framework pads rows.
        report.tries(planes_share_no_byte, subject, _frames(context, name, SIDE - 2) or frames)
        if not tried:
            report.tries(sizes_of_frames, spec.node, context, name)
            _check_objects(report, subject, frames)
        tried = True


def _frames(context: Context, name: str, side: int) -> Allocated | None:
    """Square frames of a format; None where the context has none."""
    make = partial(context.allocate_frame, name, side, side)
    try:
        make().close()
    except SamebytesError:
        return None
    return Allocated(context, make)


def _check_objects(report: Report, subject: str, made: Allocated) -> None:
    report.tries(close_gives_back, subject, made)
    report.tries(held_memory_lives_on, subject, made)
    report.tries(array_keeps_its_memory, subject, made)
    report.tries(living_memory_shares_no_byte, subject, made)
    report.tries(identity_is_readonly, subject, made.allocate())
