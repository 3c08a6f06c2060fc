# SPDX-License-Identifier: Apache-2.0
"""The errors that a pipeline on Ray raises besides those of elements."""

from __future__ import annotations

from collections.abc import Mapping

from samebytes.errors import ElementError, SamebytesError

__all__ = ["ClusterError", "PlacementTimeoutError", "WorkerDiedError"]


class ClusterError(SamebytesError, RuntimeError):
    """This process is not connected to a Ray cluster, or the cluster cannot run the pipeline.

    Attributes:
        resources: the resources that an actor asks for and the cluster lacks, by Ray's names.
    """

    def __init__(self, message: str, resources: Mapping[str, float] | None = None) -> None:
        self.resources = dict(resources or {})
        super().__init__(message)


class PlacementTimeoutError(ClusterError, TimeoutError):
    """Ray did not start an actor in time: the resources it asks for exist, but are in use."""


class WorkerDiedError(ElementError):
    """The process of an actor died more often than `restarts` allows."""
