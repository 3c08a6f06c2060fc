# SPDX-License-Identifier: Apache-2.0
"""The binding of one port, and the rules by which plugins use a tensor in place, or copy it.

The rules of the GPU and NPU plugins are in `_remote/_placement.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from samebytes import Tensor

from .._host._tensor import OPENVINO, OpenVINOTensor
from ._ports import Port

__all__ = [
    "Binding",
    "Bound",
    "HostPlacement",
    "InPlace",
    "Placement",
    "PlacementRules",
    "Verdict",
]

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


@dataclass(frozen=True, slots=True)
class Binding:
    """The binding of a port of a request: what it reads or writes.

    Attributes:
        kind: "input" or "output".
        name: the name of the port.
        tensor: the tensor that was set; None where the request uses its own memory, as for an
            output until `set_output_tensor()` or `set_tensor()` is called on it.
        placement: "in place" if the device is given the tensor's own memory; "imported" if the
            NPU plugin makes pages of the CPU's its own, without a copy; "copied" if the
            tensor was copied when it was set, or is copied by the plugin at each inference, both
            of which took copy=True; "unknown" where OpenVINO does not report it: on devices other
            than CPU, GPU and NPU, on discrete GPUs for memory of the CPU, and for a native remote
            tensor that is smaller than its memory, which may be a region that the plugin copies.
            A model whose first operation would overwrite an input makes the CPU plugin copy that
            input by itself, which OpenVINO does not report.
        batch: the tensors that were set as a batch, one for each item.
    """

    kind: Literal["input", "output"]
    name: str
    tensor: Tensor | None
    placement: Placement
    batch: tuple[Tensor, ...] = ()


class Bound:
    """The binding of one port, as the request holds it.

    Attributes:
        tensor: the tensor that get_tensor() returns; None for a batch of remote tensors.
        given: the tensor that OpenVINO was given: the same one, or a dense copy.
        plugin_copies: bytes that the plugin copies at each inference.
        pin: see `Verdict`.
        batch: the tensors that were set as a batch.
        ran: whether the last inference used it, on a GPU or NPU; False elsewhere.
    """

    __slots__ = ("batch", "given", "pin", "placement", "plugin_copies", "ran", "tensor")

    def __init__(
        self,
        tensor: Tensor | None,
        given: Tensor | None,
        placement: Placement,
        plugin_copies: int = 0,
        pin: Any = None,
        batch: tuple[Tensor, ...] = (),
    ) -> None:
        self.tensor = tensor
        self.given = given
        self.placement = placement
        self.plugin_copies = plugin_copies
        self.pin = pin
        self.batch = batch
        self.ran = False


class InPlace(Bound):
    """A port that is bound to a tensor of OpenVINO's, which this holds: the most frequent binding.

    What is reported of it is made when somebody asks.

    Attributes:
        native: the openvino.Tensor.
        source: the tensor that it is the native of, which may be closed by now; or what else it
            lies in: the user's own openvino.Tensor, which is `native` then, or a frame.
    """

    __slots__ = ("_tensor", "native", "source")

    placement: Placement = "in place"
    plugin_copies = 0
    pin = None
    batch: tuple[Tensor, ...] = ()
    ran = False

    def __init__(self, native: Any, source: Any) -> None:
        self.native = native
        self.source = source
        self._tensor: Tensor | None = None

    @property
    def tensor(self) -> Tensor:  # type: ignore[override]  # read only: made when it is asked for
        """The tensor that get_tensor() returns, mapped for reading."""
        found = self._tensor
        if found is None:
            source = self.source
            if not isinstance(source, Tensor) or source.closed:
                source = OpenVINOTensor.wrap(self.native)
            found = self._tensor = source.map(OPENVINO, "r")
        return found

    @property
    def given(self) -> Tensor:  # type: ignore[override]  # as `tensor`
        """The tensor that OpenVINO was given: the same one."""
        return self.tensor
