# SPDX-License-Identifier: Apache-2.0
"""The user's postprocess(frame, outputs): whether it can be called so, and what it returned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from samebytes import Frame, Region
from samebytes.errors import ParameterError
from samebytes.metadata import upright_size, upright_transform

__all__ = ["as_stored", "check_signature", "regions_of"]

_OF_FRAMES = ("frame", "outputs")
_OF_REGIONS = ("frame", "outputs", "region")


def check_signature(element: str, function: Callable[..., Any], of_regions: bool = False) -> None:
    """See whether a function can be called with a frame and the outputs.

    Args:
        element: whose parameter it is, for the error.
        function: what is called for each frame.
        of_regions: it is called for each region, with that too.

    Raises:
        ParameterError: it takes fewer arguments, or needs more, or is a coroutine function.
    """
    names = _OF_REGIONS if of_regions else _OF_FRAMES
    if inspect.iscoroutinefunction(function):
        raise _refused(element, function, names, "is an async function, which nothing waits for")
    try:
        signature = inspect.signature(function)
    except ValueError:  # of C code that does not say
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        raise _refused(element, function, names, f"takes {signature}: {error}") from None


def regions_of(returned: Any, function: Callable[..., Any]) -> list[Region]:
    """The regions that a postprocess function returned; none for None.

    Args:
        returned: what it returned.
        function: for the error.

    Raises:
        TypeError: it is neither None nor an iterable of regions.
    """
    if returned is None:
        return []
    found = type(returned).__name__
    if isinstance(returned, Iterable):
        regions = list(returned)
        others = {type(one).__name__ for one in regions if not isinstance(one, Region)}
        if not others:
            return regions
        found += f" with {', '.join(sorted(others))} in it"
    raise TypeError(
        f"postprocess={_name(function)} must return a list of samebytes.Region(x, y, width, "
        f"height), or None, not {found}"
    )


def as_stored(regions: Iterable[Region], frame: Frame[Any]) -> list[Region]:
    """Regions of the upright picture of a frame, as regions of the frame.

    Raises:
        LayoutError: the metadata of the frame say what cannot be.
    """
    transform, (width, height) = upright_transform(frame), upright_size(frame)
    mapped = []
    for region in regions:
        x, y, right, bottom = transform.bounds(
            region.x / width,
            region.y / height,
            (region.x + region.width) / width,
            (region.y + region.height) / height,
        )
        left, top = round(x * frame.width), round(y * frame.height)
        mapped.append(
            replace(
                region,
                x=left,
                y=top,
                width=round(right * frame.width) - left,
                height=round(bottom * frame.height) - top,
            )
        )
    return mapped


def _refused(
    element: str, function: Callable[..., Any], names: tuple[str, ...], why: str
) -> ParameterError:
    expected = f"a function postprocess({', '.join(names)})"
    return ParameterError(
        element, "postprocess", function, expected,
        says=f"parameter 'postprocess' must be {expected}, and {_name(function)} {why}",
    )  # fmt: skip


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__
