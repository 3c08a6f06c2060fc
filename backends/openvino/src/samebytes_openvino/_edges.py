# SPDX-License-Identifier: Apache-2.0
"""The declaration of edges for tensors and for frames, which differ in little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Access, Transfer
from samebytes.plugins import MapperSpec

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class Shared(TypedDict, total=False):
        """Fields of MapperSpec, with its defaults."""

        access: tuple[Access, ...]
        opaque: bool
        cost: float | None
        requires: tuple[str, ...]
        only: str


__all__ = ["FRAME_TO_CPU", "both"]

FRAME_TO_CPU = (
    "_host._mappers:OpenVINOFrameToCpu",
    "the data of each plane, (rows, columns) or (rows, columns, channels)",
)
"""Of host memory, and of an NPU's, which is the host's."""


def both(
    source: str,
    target: str,
    transfer: Transfer,
    *,
    tensor: tuple[str, str],
    frame: tuple[str, str],
    **shared: Unpack[Shared],
) -> tuple[MapperSpec, MapperSpec]:
    """The edge for tensors and the one for frames, whose planes become NHWC.

    Args:
        tensor, frame: the mapper of each, "module:Class" in this package, and its summary.
        shared: what else holds for both.
    """
    here = __package__
    return (
        MapperSpec(
            source=source, target=target, transfer=transfer, mapper=f"{here}.{tensor[0]}",
            summary=tensor[1], per_plane=False, **shared,
        ),
        MapperSpec(
            source=source, target=target, transfer=transfer, mapper=f"{here}.{frame[0]}",
            summary=frame[1], level="frame", **shared,
        ),
    )  # fmt: skip
