# SPDX-License-Identifier: Apache-2.0
"""Arrays whose base is an object of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["pinned_array"]


class _Pinned:
    """An address range as numpy sees it, and the object that keeps it valid."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def pinned_array(interface: dict[str, Any], owner: object) -> np.ndarray[Any, Any]:
    """The array that `interface` describes; it, and whatever is made from it, holds `owner`."""
    return np.asarray(_Pinned(interface, owner))
