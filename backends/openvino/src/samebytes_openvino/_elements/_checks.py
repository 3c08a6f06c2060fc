# SPDX-License-Identifier: Apache-2.0
"""The checks of openvino.infer, whose errors say which parameter or which frame is at fault."""

from __future__ import annotations

from typing import Any

from samebytes import Frame
from samebytes.elements import FrameInfo, Transform
from samebytes.errors import ElementError, LayoutError, MetadataError, ParameterError
from samebytes.metadata import SourceIdentifier, find

from .._image._joined import check_batch, identity
from .._models._reading import Reading

__all__ = ["check_batch_of", "check_kept", "check_labels", "failed", "resized_regions"]


def failed(element: Transform, frame: Frame[Any], what: str) -> ElementError:
    """The error of a frame that is not the one that has just come.

    Args:
        element: in which it happened.
        what: what happened.
    """
    return ElementError(
        element.name, what, stream=_stream_of(frame), pts=frame.meta.pts,
        parameters=element.changed_parameters,
    )  # fmt: skip


def resized_regions(element: Transform, name: str) -> ParameterError:
    """The error of a parameter that resizes whole frames, where regions of them are seen."""
    return ParameterError(
        element.name, name, getattr(element, name), "left out with regions=",
        says=f"parameter {name!r} is of whole frames, and pixels of regions= are chosen inside "
        f"the model: leave {name}= out",
    )  # fmt: skip


def check_kept(given: FrameInfo, kept: int) -> None:
    """Raise ValueError if as many frames are kept under way as the source's pool has."""
    if given.pool is not None and kept >= given.pool:
        raise ValueError(
            f"it keeps up to {kept} of the frames of its source, which has only {given.pool}: use "
            "a smaller batch= or requests="
        )


def check_batch_of(element: Transform, model: Any, batch: int, of_tensors: bool) -> None:
    """See whether a model can have a batch.

    Args:
        element: whose parameter it is.
        of_tensors: of frames of tensors; for images the model is reshaped to one frame first.

    Raises:
        ParameterError: it cannot.
    """
    try:
        if of_tensors:
            identity(model)
        check_batch(model, batch)
    except LayoutError as error:
        says = f"parameter 'batch' is {batch}: {error}"
        raise ParameterError(
            element.name, "batch", batch, "what the model can have", says=says
        ) from error


def check_labels(element: Transform, reading: Reading) -> None:
    """See whether there is a label for each class, where the outputs show how many there are.

    With one too few or too many, nothing says which label is that of which class.

    Raises:
        ParameterError: there is another number of labels.
    """
    labels = reading.settings["labels"]
    if labels and reading.classes not in (None, len(labels)):
        raise ParameterError(
            element.name, "labels", labels, "a name for each class",
            says=f"{len(labels)} labels ({reading.places['labels']}) for outputs of "
            f"{reading.classes} classes: pass labels= with a name for each, or labels=[] for their "
            "numbers, or family= and keypoints= to read the outputs otherwise",
        )  # fmt: skip


def _stream_of(frame: Frame[Any]) -> int | None:
    """The number of a frame's stream, where it says so."""
    try:
        source = find(frame, SourceIdentifier)
    except MetadataError:
        return None
    return None if source is None else source.stream_id
