# SPDX-License-Identifier: Apache-2.0
"""Pipelines of samebytes on a Ray cluster. Importing this does not import ray."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._errors import ClusterError, PlacementTimeoutError, WorkerDiedError
    from ._pipeline import Pipeline, Running
    from ._stages import Actor

__version__ = "0.1.0"

__all__ = [
    "Actor",
    "ClusterError",
    "Pipeline",
    "PlacementTimeoutError",
    "Running",
    "WorkerDiedError",
]

_HOME = {
    "Actor": "._stages",
    "ClusterError": "._errors",
    "Pipeline": "._pipeline",
    "PlacementTimeoutError": "._errors",
    "Running": "._pipeline",
    "WorkerDiedError": "._errors",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
