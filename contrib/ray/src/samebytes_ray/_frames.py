# SPDX-License-Identifier: Apache-2.0
"""Frames in the object store: their planes by reference, and their description by value."""

from __future__ import annotations

from typing import Any

import ray.cloudpickle

import samebytes as sb
from samebytes import CpuTensor
from samebytes.errors import ElementError, SamebytesError
from samebytes.plugins import joint_owner

__all__ = ["described", "frame_of", "planes_of"]

_CPU = sb.context("cpu")


def planes_of(frame: sb.Frame, element: str) -> list[sb.Tensor | Any]:
    """The planes, ready for the store: pickling copies them once, and counts it.

    Args:
        frame: in memory of any kind; it is mapped to the CPU.
        element: the name of the element that gave it, for the error.

    Raises:
        ElementError: the CPU cannot map its memory.
    """
    try:
        here = frame.map("cpu", copy=True)
    except SamebytesError as error:
        raise ElementError(
            element,
            f"its frames of {frame.context.node!r} cannot go into Ray's object store, which is "
            f"memory of the CPU: {error}; put it and the next element into one Actor",
            pts=frame.meta.pts,
        ) from error
    return [sb.copied(plane) for plane in here.planes]


def described(frame: sb.Frame, element: str) -> bytes:
    """Format, times, metadata and regions, pickled. Tensors in the metadata are copied, counted.

    Args:
        frame: any.
        element: what gave it, for the error.

    Raises:
        ElementError: something in the metadata cannot be pickled.
    """
    meta = frame.meta
    known = sb.FrameMeta(meta.info, meta.pts, meta.time_base, meta.metadata, meta.regions)
    # A frame without planes: the core knows how entries are pickled, and the tensors in them.
    bare = sb.Frame.borrowed((), _CPU, known, planes=())
    try:
        return bytes(ray.cloudpickle.dumps(sb.copied(bare)))
    except Exception as error:
        raise ElementError(
            element, f"the metadata of a frame cannot be pickled: {error}", pts=meta.pts
        ) from error


def frame_of(planes: list[sb.Tensor], description: bytes) -> sb.Frame:
    """A read-only frame over the very bytes in the object store, which it holds.

    Args:
        planes: the planes from the store.
        description: the result of `described`.
    """
    meta = ray.cloudpickle.loads(description).meta
    over = [_readonly(plane) for plane in planes]
    natives = tuple(plane.native for plane in over)
    return sb.Frame.borrowed(
        natives, _CPU, meta, keep=joint_owner(natives), readonly=True, planes=over
    )


def _readonly(plane: Any) -> CpuTensor:
    """Ray keeps small objects elsewhere than in its store, and they might be writable there."""
    if plane.readonly:
        return plane  # type: ignore[no-any-return]  # it is a CpuTensor
    array = plane.native.view()
    array.flags.writeable = False
    lazy = plane.info if plane.dtype.numpy is None else None
    return CpuTensor.borrowed(array, _CPU, readonly=True, info=lazy)
