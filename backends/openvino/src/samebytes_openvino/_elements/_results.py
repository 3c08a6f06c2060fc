# SPDX-License-Identifier: Apache-2.0
"""Results of an inference, added to the frame or to the region that the model saw.

The user's postprocess(frame, outputs) and what it returns are checked here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from samebytes import Frame, Region, Tensor
from samebytes.errors import ParameterError
from samebytes.metadata import (
    AffineTransform,
    InferenceResult,
    add,
    upright_size,
    upright_transform,
)

from .._models._detections import Box
from .._models._reading import Reading
from .._request._outputs import WHOLE, placed

__all__ = ["Results", "as_stored", "check_signature", "regions_of"]


@dataclass(slots=True)
class Results:
    """The way in which results are added.

    Attributes:
        model_name: the name of the model, for typed entries.
        postprocess: the user's function, or None.
        key: the key of tensors in the metadata of a frame.
        entries: whether there are typed entries for all outputs.
        upright: whether the model saw the picture upright.
        attribute: what a classification of a region is about.
        reading: the way in which the model's outputs are read, once it is known.
    """

    model_name: str
    postprocess: Callable[..., Any] | None
    key: str
    entries: bool
    upright: bool
    attribute: str
    reading: Reading | None = None

    @property
    def outlive(self) -> bool:
        """True if the tensors are kept when the next inference runs."""
        return self.entries or (self.postprocess is None and self._read_by is None)

    @property
    def _read_by(self) -> Reading | None:
        found = self.reading
        return None if found is None or found.family == "none" else found

    def of_frame(
        self,
        frame: Frame[Any],
        tensors: Mapping[str, Tensor] | None,
        outputs: Any,
        transform: AffineTransform,
    ) -> None:
        """Add what the model made of a whole frame.

        Args:
            tensors: the outputs in memory that outlives the next inference, or None.
            outputs: the same, until the next inference.
            transform: from the model's image to the picture, which is upright if that is wanted.
        """
        if self.entries:
            self._add_entries(frame, tensors or {})
        if self.postprocess is not None:
            if transform is not WHOLE:
                placed(outputs, transform)
            returned = self.postprocess(frame, outputs)
            if returned is not None:
                regions = regions_of(returned, self.postprocess)
                frame.regions.extend(as_stored(regions, frame) if self.upright else regions)
        elif self._read_by is not None and frame.meta.info is not None:
            if self.upright:
                transform = upright_transform(frame).after(transform)
            self._read_by.add_to(frame, [*outputs], transform)
        else:
            frame.metadata[self.key] = tensors

    def of_region(
        self,
        frame: Frame[Any],
        region: Region,
        box: Box,
        tensors: Mapping[str, Tensor] | None,
        outputs: Any,
        transform: AffineTransform,
    ) -> None:
        """Add what the model made of a region of a frame.

        Args:
            box: what was seen of the region.
            tensors, outputs: as for `of_frame`.
            transform: from the model's image to the frame, as it is stored.
        """
        if self.outlive:
            self._add_entries(region, tensors or {})
        if self.postprocess is not None:
            if self.upright:
                transform = upright_transform(frame).inverse().after(transform)
            returned = self.postprocess(frame, placed(outputs, transform), region)
            found = regions_of(returned, self.postprocess)
            found = as_stored(found, frame) if self.upright else found
        elif self._read_by is not None:
            found = self._read_by.add_to_region(
                frame, region, box, [*outputs], transform, self.attribute
            )
        else:
            return
        _of_parent(frame, region, found)
        frame.regions.extend(found)

    def _add_entries(self, holder: Any, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            add(holder, InferenceResult(tensor, self.model_name, name))


def _of_parent(frame: Frame[Any], parent: Region, found: Iterable[Region]) -> None:
    """Note on regions in which one they were found; that one gets a number if it has none."""
    for region in found:
        if parent.metadata.get("id") is None:
            numbers = [r.metadata.get("id") for r in frame.regions]
            parent.metadata["id"] = max((n for n in numbers if isinstance(n, int)), default=0) + 1
        region.metadata["parent_id"] = parent.metadata["id"]


_OF_FRAMES = ("frame", "outputs")
_OF_REGIONS = ("frame", "outputs", "region")


def check_signature(element: str, function: Callable[..., Any], of_regions: bool = False) -> None:
    """Check that a function can be called with a frame and the outputs.

    Args:
        element: the element whose parameter it is, for the error.
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
        LayoutError: the metadata of the frame are invalid.
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
