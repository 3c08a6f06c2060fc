# SPDX-License-Identifier: Apache-2.0
"""The functions of libgstanalytics, as far as this GStreamer has them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from samebytes.errors import MissingDependencyError

from ..._abi.analytics import ANALYTICS, KEYPOINTS, ORIENTED, SEGMENTATION, TENSORS
from ..._abi.install_hints import ANALYTICS_LIBRARY
from ..._abi.libraries import load

__all__ = [
    "analytics",
    "check_analytics",
    "keypoints",
    "oriented",
    "segmentation",
    "tensor_functions",
]

_LIBRARY = "libgstanalytics-1.0.so.0"


@cache
def analytics() -> Any:
    """The functions that read and write results, or None before GStreamer 1.24."""
    return _or_none(ANALYTICS)


def check_analytics() -> None:
    """See that results can be written.

    Raises:
        MissingDependencyError: this GStreamer lacks the library, or functions of it.
    """
    load(_LIBRARY, ANALYTICS, ANALYTICS_LIBRARY)


@cache
def keypoints() -> Any:
    """The functions for groups of key points, or None before GStreamer 1.30."""
    return _or_none(KEYPOINTS)


@cache
def oriented() -> Any:
    """The functions for turned boxes, or None before GStreamer 1.26."""
    return _or_none(ORIENTED)


@cache
def segmentation() -> Any:
    """The functions for masks, or None before GStreamer 1.26."""
    return _or_none(SEGMENTATION)


@cache
def tensor_functions() -> Any:
    """The functions for tensors, or None before GStreamer 1.26."""
    return _or_none(TENSORS)


def _or_none(prototypes: Mapping[str, tuple[Any, ...]]) -> Any:
    try:
        return load(_LIBRARY, prototypes, ANALYTICS_LIBRARY)
    except MissingDependencyError:
        return None
