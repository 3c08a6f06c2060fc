# SPDX-License-Identifier: Apache-2.0
"""A check of which DMA-BUFs can be made on this machine."""

from __future__ import annotations

import sys

from samebytes.plugins import ProbeResult

__all__ = ["probe"]


def probe() -> ProbeResult:
    """Look for the allocators. Descriptors of others can be used in any case."""
    if sys.platform != "linux":
        return ProbeResult(
            usable=False,
            reason=f"DMA-BUFs exist only on Linux, and this is {sys.platform}",
            hint="leave samebytes-dma out here",
        )
    from ._allocators import ALLOCATORS, Memfd

    details, hints, first = {}, [], ""
    for allocator in ALLOCATORS:
        lack = allocator.lack()
        if isinstance(allocator, Memfd):
            details[allocator.name] = "a stand-in: no DMA-BUF"
        elif lack is None:
            details[allocator.name] = "usable"
            first = first or allocator.name
        else:
            missing, hint = lack
            details[allocator.name] = f"{missing} is missing"
            hints.append(f"{allocator.name}: {hint}")
    if first:
        return ProbeResult(usable=True, reason=f"new memory comes from {first}", details=details)
    return ProbeResult(
        usable=True,
        reason="this machine makes no DMA-BUFs: a memfd stands in for new memory",
        hint="; ".join(hints),
        details=details,
    )
