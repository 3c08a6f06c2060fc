# SPDX-License-Identifier: Apache-2.0
"""Packages that extend memory of "dma" in every process that has such memory.

A package announces a module in the entry-point group `samebytes_dma.extensions`. Its `register()`
is called once, without arguments, after this package has made its context. It runs in programs that
never mention the other package, so it should import little and do nothing slow: samebytes-ipc, for
instance, registers with the pickler of multiprocessing.
"""

from __future__ import annotations

import importlib
import warnings

from samebytes.plugins import entry_points

__all__ = ["GROUP", "register_extensions"]

GROUP = "samebytes_dma.extensions"


def register_extensions() -> None:
    """Call the `register()` of each; one that is broken is left out with a RuntimeWarning."""
    for entry in entry_points(GROUP):
        try:
            if entry.problem:
                raise ImportError(entry.problem)
            importlib.import_module(entry.module).register()
        except Exception as error:  # of others: it must not take memory away from the program
            warnings.warn(
                f"{entry.distribution or entry.name} does not extend samebytes-dma: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
