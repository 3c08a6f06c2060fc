# SPDX-License-Identifier: Apache-2.0
"""Libraries of arrays that are particular about memory of the CPU which they are given."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["particular_consumers"]


def particular_consumers() -> dict[str, str]:
    """The version and the requirements of each such library that is installed. None is imported.

    JAX was seen to take arrays in place at offsets 0, 64 and 128, and to copy others (0.10.2).
    """
    try:
        found = version("jax")
    except PackageNotFoundError:
        return {}
    return {
        "JAX": f"{found}, which copies memory of the CPU that does not begin at a multiple of 64 "
        "bytes; what samebytes allocates does"
    }
