# SPDX-License-Identifier: Apache-2.0
"""A function of an installed plugin that resizes single planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._plugins.discovery import tables
from .._plugins.loading import load
from ..errors import MissingDependencyError, PluginError

__all__ = ["find_plane_resizer"]

# The one of this project that has such a function, for the hint where it is not installed.
_WITH_PLANES = "opencv"


def find_plane_resizer(plugin: str) -> Callable[[Any, Any], object]:
    """See `samebytes.plugins.plane_resizer`."""
    refused: PluginError | None = None
    found = [(spec.cost, name, spec.planes) for name, spec in tables().converters if spec.planes]
    for _, name, planes in sorted(found):
        try:
            resize: Callable[[Any, Any], object] = load(planes, name)
        except PluginError as error:
            refused = refused or error
        else:
            return resize
    if refused is not None:
        raise refused
    raise MissingDependencyError(
        plugin,
        f"a plugin that resizes planes, such as {_WITH_PLANES!r},",
        'pip install "samebytes[opencv]"',
    )
