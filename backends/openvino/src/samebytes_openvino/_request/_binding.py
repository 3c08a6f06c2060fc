# SPDX-License-Identifier: Apache-2.0
"""The binding of one port: what can be bound to it, and when plugins use it in place, or copy it.

OpenVINO checks late, or not at all, whether a tensor can be bound, so it is checked here. The rules
of the GPU and NPU plugins are in `_remote/_placement_rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import openvino

from samebytes import Frame, Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError

from .._host._tensor import OPENVINO, OpenVINOTensor
from .._remote._context import RemoteTensor
from ._ports import Port

__all__ = [
    "Bound",
    "HostPlacement",
    "InPlace",
    "Placement",
    "PlacementRules",
    "Verdict",
    "check_batch",
    "check_kind",
    "check_layout",
    "check_output",
    "check_remote",
    "check_surface",
    "is_dense",
]


Placement = Literal["in place", "imported", "copied", "unknown"]


class Verdict(NamedTuple):
    """A plugin's treatment of one tensor.

    Attributes:
        placement: see `samebytes_openvino.Binding`.
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
        gaps: what the plugin would do with gaps between rows, in words.
        converts: element types that it lacks, and converts at each inference.
        refuses_remote: element types for which it takes no remote input.
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
    """The treatment of tensors by the CPU plugin, which uses dense ones in place, or by another.

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
        source: the tensor whose native it is, which may be closed by now; or the user's own
            openvino.Tensor, which then is `native`; or the frame that it lies in.
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


def check_kind(port: Port, value: Any) -> None:
    """Raise UnsupportedObjectError for anything but tensors, LayoutError for a port of strings."""
    _check_no_strings(port)
    if isinstance(value, Frame):
        raise UnsupportedObjectError(
            f"{port} takes one tensor, and this is a frame: use set_frame(), or set its planes"
        )


def check_layout(port: Port, info: TensorInfo) -> None:
    """Raise LayoutError unless dtype and shape are those of the port."""
    if info.shape == port.shape and info.dtype is port.element:
        return
    _check_no_strings(port)
    fits = port.shape is None and port.native.partial_shape.compatible(
        openvino.PartialShape(list(info.shape))
    )
    if not fits or info.dtype is not port.element:
        shape = list(port.shape) if port.shape is not None else str(port.native.partial_shape)
        raise LayoutError(
            f"{port} takes {port.element} {shape}, but the tensor is {info.dtype} "
            f"{list(info.shape)}"
        )


def _check_no_strings(port: Port) -> None:
    """Raise LayoutError if the port holds strings, whatever is set."""
    if port.element is None:
        raise LayoutError(
            f"{port} holds strings, which cannot be shared: set them by request.native.set_tensor("
            f"{port.name!r}, openvino.Tensor(strings)), which copies"
        )


def check_batch(port: Port, parts: Sequence[Tensor]) -> None:
    """Raise LayoutError unless the tensors are the items of one batch, one for each."""
    if port.kind != "input":
        raise LayoutError(f"{port}: only inputs are set as a batch of tensors")
    if port.shape is None or not port.shape:
        raise LayoutError(
            f"{port} has the shape {port.native.partial_shape}: a batch needs a fixed one, see "
            "openvino.set_batch(model, items)"
        )
    items, *rest = port.shape
    if len(parts) != items:
        raise LayoutError(f"{port} takes a batch of {items}, tensors passed: {len(parts)}")
    for index, part in enumerate(parts):
        info = part.info
        if info.shape != (1, *rest) or info.dtype is not port.element:
            raise LayoutError(
                f"item {index} of a batch for {port} must be {port.element} {[1, *rest]}, and is "
                f"{info.dtype} {list(info.shape)}"
            )


def is_dense(port: Port, info: TensorInfo, native: Any) -> bool:
    """True if an openvino.Tensor of the port's layout, in memory of the CPU, has no gaps."""
    # Asking OpenVINO costs more than a comparison with what a port of fixed shape takes.
    return info.strides == port.strides or bool(native.is_continuous())


def check_output(port: Port, dense: bool, info: TensorInfo) -> None:
    """Raise LayoutError unless an inference can write its output to memory of the CPU."""
    _check_fixed_shape(port)
    if not dense:
        raise LayoutError(
            f"{port} is written in place to dense memory only, and strides {info.strides} leave "
            "gaps: set a dense tensor, and copy from it"
        )


def check_remote(port: Port, tensor: Tensor, rules: PlacementRules) -> None:
    """Raise LayoutError if the plugin would fail on a remote tensor, or give wrong numbers."""
    info = tensor.info
    if port.kind == "output":
        _check_fixed_shape(port)
        if isinstance(tensor, RemoteTensor) and tensor.params.get("TENSOR_TYPE") == "INPUT":
            raise LayoutError(
                f"{port}: the NPU may only read memory of TENSOR_TYPE INPUT: make the tensor as "
                "OUTPUT or BINDED"
            )
        if info.strides is None and not info.dtype.packed:
            raise LayoutError(f"{port}: an inference writes to buffers, not to images")
        if info.dtype.name in rules.converts:  # it converts into ordinary memory alone
            raise LayoutError(
                f"{port} is {info.dtype}, and the GPU plugin leaves remote tensors for such "
                "outputs unwritten: set memory of the CPU with copy=True, or let the model convert "
                "the output to float32 or int64"
            )
    elif info.dtype.name in rules.refuses_remote:
        raise LayoutError(
            f"{port} is {info.dtype}, and the GPU plugin takes no remote tensors for such inputs: "
            "set memory of the CPU, or compile the model with a uint8 input"
        )
    check_surface(port, info.strides is None and not info.dtype.packed, rules)
    if info.strides not in (None, port.strides) and not info.is_contiguous:
        raise LayoutError(
            f"{port}: strides {info.strides} leave gaps, and the plugin would read them as data"
        )


def check_surface(port: Port, surface: bool, rules: PlacementRules) -> None:
    """Raise LayoutError if the input takes surfaces and this is not one, or the other way round.

    Args:
        surface: whether this is an image or a video surface.
    """
    if rules.reads_surface(port) is (not surface):
        have, takes, other = (
            ("an image or surface", "buffers, USM and memory of the CPU", "GPU_SURFACE")
            if surface
            else ("memory with strides", "images and video surfaces", "GPU_BUFFER")
        )
        raise LayoutError(
            f"{port} takes {takes}, and this is {have}: prepare the model with "
            f'memory_type="{other}"'
        )


def _check_fixed_shape(port: Port) -> None:
    """Raise LayoutError if the size of an output is known only after the inference."""
    if port.shape is None:
        raise LayoutError(
            f"{port} has a dynamic shape {port.native.partial_shape}: OpenVINO writes it to memory "
            "of its own and would copy it; read it with get_tensor() or outputs()"
        )
