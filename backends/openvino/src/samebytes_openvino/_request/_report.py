# SPDX-License-Identifier: Apache-2.0
"""The binding of a port, as a request reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from samebytes import Tensor

from ._binding import Placement

__all__ = ["Binding"]


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
