# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: the measurements of `samebytes bench`, and the way for distributions to add theirs.

A distribution names a module in the entry-point group `samebytes.benchmarks`, under the name of its
plugin. The module holds `BENCHMARKS`, a list of `Benchmark`, and imports no framework; the function
that makes the calls is named by a string, and imported when it is measured.

    [project.entry-points."samebytes.benchmarks"]
    ring = "samebytes_ring._benchmarks"
"""

from __future__ import annotations

from ._along import along, check_way
from ._found import Offer, offers
from ._spec import Benchmark, CannotMeasureError, Ways, edge_name
from ._timing import FULL, QUICK, Effort, Measured, measure

__all__ = [
    "FULL",
    "QUICK",
    "Benchmark",
    "CannotMeasureError",
    "Effort",
    "Measured",
    "Offer",
    "Ways",
    "along",
    "check_way",
    "edge_name",
    "measure",
    "offers",
]
