# SPDX-License-Identifier: Apache-2.0
"""Plan: the environment in which libraries find a software device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Plan", "SoftDeviceError", "combine"]


class SoftDeviceError(RuntimeError):
    """A software device cannot be used here; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes to a process's environment that lead its libraries to a software device.

    Attributes:
        environment: Variables to set.
        search: Folders that come first in LD_LIBRARY_PATH.
        preload: Libraries that a running process loads first, in this order, since it no longer
            reads LD_LIBRARY_PATH. Other libraries then find them by their names.
        interpose: Libraries that must win over others with the same name, or with functions of
            the same names, which a program finds by its own RPATH: that comes before
            LD_LIBRARY_PATH. They go to LD_PRELOAD. A running process loads them globally, after
            those of `preload`.
        too_late: Prefixes of the names of libraries that a running process must not have loaded
            yet: they would have found other libraries than those of `interpose`.
        describes: The device's name and a few words about it: "gpu (OpenCL on the CPU)".
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    search: tuple[Path, ...] = ()
    preload: tuple[Path, ...] = ()
    interpose: tuple[Path, ...] = ()
    too_late: tuple[str, ...] = ()
    describes: str = ""


def combine(plans: Iterable[Plan]) -> Plan:
    """Make one plan of several.

    Raises:
        SoftDeviceError: two of them want different values for one variable.
    """
    environment: dict[str, str] = {}
    search: dict[Path, None] = {}
    preload: dict[Path, None] = {}
    interpose: dict[Path, None] = {}
    too_late: dict[str, None] = {}
    describes: list[str] = []
    for plan in plans:
        for name, value in plan.environment.items():
            if environment.setdefault(name, value) != value:
                raise SoftDeviceError(
                    f"two software devices need different values for {name}: "
                    f"{environment[name]!r} and {value!r}"
                )
        search.update(dict.fromkeys(plan.search))
        preload.update(dict.fromkeys(plan.preload))
        interpose.update(dict.fromkeys(plan.interpose))
        too_late.update(dict.fromkeys(plan.too_late))
        if plan.describes:
            describes.append(plan.describes)
    return Plan(
        environment=environment,
        search=tuple(search),
        preload=tuple(preload),
        interpose=tuple(interpose),
        too_late=tuple(too_late),
        describes=", ".join(describes),
    )
