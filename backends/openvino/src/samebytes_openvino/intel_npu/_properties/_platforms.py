# SPDX-License-Identifier: Apache-2.0
"""The NPU platforms, and what the plugin chooses on each for a performance hint.

All numbers are the document's. Those of DMA engines are from an older one, as today's has none.
The plugin of 2026.4.1 answers the same requests when a driver reports the platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = ["PLATFORMS", "Platform", "platform"]

Hint = Literal["THROUGHPUT", "LATENCY"]
Numbers = Mapping[Hint, int]


@dataclass(frozen=True, slots=True)
class Platform:
    """One generation of NPUs. What is not known is None.

    Attributes:
        name: as DEVICE_ARCHITECTURE gives it, or "unknown".
        product: the processors that have it.
        total_tiles: how many tiles (DPU groups) there are: one number, or one for each variant.
        tiles: those that are used with a hint, if NPU_TILES is not set.
        dma_engines: those that are used with a hint; all of them.
        requests: OPTIMAL_NUMBER_OF_INFER_REQUESTS with a hint.
    """

    name: str
    product: str = "unknown"
    total_tiles: tuple[int, ...] | None = None
    tiles: Numbers | None = None
    dma_engines: Numbers | None = None
    requests: Numbers | None = None

    @property
    def known(self) -> bool:
        """True if this platform is in the table."""
        return self.name in PLATFORMS


def _each(throughput: int, latency: int) -> Numbers:
    return MappingProxyType({"THROUGHPUT": throughput, "LATENCY": latency})


PLATFORMS: Mapping[str, Platform] = MappingProxyType(
    {
        p.name: p
        for p in (
            Platform("3720", "Meteor, Arrow Lake", (2,), _each(2, 2), _each(2, 2), _each(4, 1)),
            Platform("4000", "Lunar Lake", (5, 6), _each(2, 4), _each(2, 2), _each(8, 1)),
            Platform("5010", "Panther Lake", (3,), _each(1, 3), requests=_each(8, 1)),
            Platform("5020", "Wildcat Lake", (1,), _each(1, 1), requests=_each(8, 1)),
        )
    }
)
"""The known generations of NPUs, by name."""


def platform(name: str) -> Platform:
    """The platform of that name: "4000", "NPU4000".

    One that is not in the table is named "unknown", and nothing is known of it: a newer NPU is no
    error.

    Args:
        name: as OpenVINO or the device spells it.
    """
    return PLATFORMS.get(str(name).removeprefix("NPU"), Platform("unknown"))
