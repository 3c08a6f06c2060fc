# SPDX-License-Identifier: Apache-2.0
"""Hypothesis settings for the suites: the same examples each time, as many as are needed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

__all__ = ["DTYPES", "repeatable"]

repeatable = settings(
    max_examples=100,
    deadline=None,  # the first use of a framework may take long
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
"""Settings for tests whose result must not change from run to run."""

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
"""The element types that numpy and samebytes both have."""
