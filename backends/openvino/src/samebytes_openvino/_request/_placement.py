# SPDX-License-Identifier: Apache-2.0
"""The rules by which plugins use an ordinary tensor in place, or copy it.

The rules of the GPU and NPU plugins are in `_remote/_placement.py`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

from samebytes import Tensor

from ._ports import Port

__all__ = ["HostPlacement", "Placement", "PlacementRules", "Verdict"]

Placement = Literal["in place", "imported", "copied", "unknown"]


class Verdict(NamedTuple):
    """A plugin's treatment of one tensor.

    Attributes:
        placement: see `Binding`.
        reason: the reason why it is copied.
        pin: an object that must live while the tensor is bound, or this would no longer hold.
    """

    placement: Placement
    reason: str = ""
    pin: Any = None


class PlacementRules(Protocol):
    """The rules by which a plugin treats tensors.

    Attributes:
        own: the placement of the request's own tensors.
        gaps: what it would do with gaps between rows.
        converts: element types that it lacks, and converts at each inference.
        refuses_remote: element types of which it takes no remote input.
        takes_remote_batches: whether set_tensors() takes remote tensors.
    """

    own: Placement
    gaps: str
    converts: frozenset[str]
    refuses_remote: frozenset[str]
    takes_remote_batches: bool

    def look(self, native: Any, writes: bool) -> Verdict:
        """The treatment of a dense openvino.Tensor that is not empty, in memory of the CPU.

        Args:
            writes: whether it is an output.
        """

    def may_be_region(self, tensor: Tensor) -> bool:
        """True if a remote tensor that the user passes can be a region, which must be copied."""

    def reads_surface(self, port: Port) -> bool | None:
        """True if a port takes only images and surfaces, False if only buffers, None if unknown."""


class HostPlacement:
    """Tensors under the CPU plugin, which uses dense ones in place; or under one not known here.

    Args:
        placement: "in place" for the CPU plugin, "unknown" for another.
    """

    gaps = (
        "the plugin would copy it unasked. image_model() takes padded frames as they are, and "
        "take_whole_rows() makes any model take padded rows: bind them with "
        "InferRequest.set_frame(frame, names)"
    )
    converts: frozenset[str] = frozenset()
    refuses_remote: frozenset[str] = frozenset()
    takes_remote_batches = False

    def __init__(self, placement: Placement) -> None:
        self.own = placement
        self._place = Verdict(placement)

    def look(self, native: Any, writes: bool) -> Verdict:
        """As `PlacementRules.look`."""
        return self._place

    def may_be_region(self, tensor: Tensor) -> bool:
        """As `PlacementRules.may_be_region`. False: the plugin has no remote tensors."""
        return False

    def reads_surface(self, port: Port) -> bool | None:
        """As `PlacementRules.reads_surface`. None: the plugin has no surfaces."""
        return None
