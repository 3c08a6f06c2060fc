# SPDX-License-Identifier: Apache-2.0
"""Models that run on a queue of the user's, and the GPU plugin's limits there.

The plugin submits to one queue only. After a start_async() that failed, the next one of any
request of the model would wait forever: observed with OpenVINO 2026.4.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from samebytes.errors import ClosedError, LayoutError

from .._errors import last_line
from .._request._compiled import plain_value

if TYPE_CHECKING:
    from samebytes import Context

__all__ = [
    "HostBlockingWarning",
    "Submissions",
    "has_shared_queue",
    "refuse_streams",
    "warn_of_host_blocking",
]

# Read by the plugin only if the model is not compiled on its own stream count.
_ONE_STREAM = "1"
# The "Limitations" of the document "Remote Tensor API of GPU Plugin", and the versions of the
# operations as their type names begin.
_HOST_BLOCKING = ("Loop", "TensorIterator", "DetectionOutput", "NonMaxSuppression")


class HostBlockingWarning(UserWarning):
    """start_async() of this model returns late: some operations wait for the device."""


def has_shared_queue(context: Context) -> bool:
    """True if models on this context run on a queue of the user's."""
    return bool(context.find_handle("cl_queue"))


def refuse_streams(core: Any, device: str, config: Mapping[str, str]) -> None:
    """Raise unless the model would run on one stream.

    Args:
        config: with plain keys.

    Raises:
        LayoutError: more than one stream, or a hint that makes the plugin choose.
    """
    why = "a model on a shared queue runs on exactly one stream"
    streams = config.get("NUM_STREAMS")
    if streams is not None:
        if streams != _ONE_STREAM:
            raise LayoutError(f"NUM_STREAMS {streams}: {why}; leave it out, or pass 1")
        return
    hint = config.get("PERFORMANCE_HINT")
    if hint == "THROUGHPUT":
        raise LayoutError(
            f'PERFORMANCE_HINT THROUGHPUT makes several streams, and {why}: pass "LATENCY"'
        )
    core_streams = str(core.get_property(device, "NUM_STREAMS"))
    if core_streams != _ONE_STREAM:
        raise LayoutError(
            f"the Core's NUM_STREAMS for {device} is {core_streams}, and {why}: pass "
            '{"NUM_STREAMS": 1} for this model'
        )
    if hint is None and plain_value(core.get_property(device, "PERFORMANCE_HINT")) == "THROUGHPUT":
        raise LayoutError(
            f"the Core's PERFORMANCE_HINT for {device} is THROUGHPUT, which makes several streams, "
            f'and {why}: pass {{"PERFORMANCE_HINT": "LATENCY"}} for this model'
        )


def warn_of_host_blocking(model: Any) -> None:
    """Warn of each operation of an openvino.Model that makes start_async() wait."""
    for operation in model.get_ops():
        kind = operation.get_type_name()
        if kind.startswith(_HOST_BLOCKING):
            warnings.warn(
                f"operation {operation.get_friendly_name()!r} ({kind}) waits for the device: "
                "start_async() returns only when the part of the model before it is done",
                HostBlockingWarning,
                stacklevel=3,
            )


class GivenUp(Protocol):
    """An inference, which can be closed for a reason of its model's."""

    def give_up(self, why: str) -> None:
        """Close it."""


class Submissions:
    """The inferences of one model on a shared queue; one failed start closes them all."""

    __slots__ = ("_inferences", "_why")

    def __init__(self) -> None:
        self._inferences: weakref.WeakSet[GivenUp] = weakref.WeakSet()
        self._why: str | None = None

    def add(self, inference: GivenUp) -> None:
        """Watch an inference of the model."""
        self.check()
        self._inferences.add(inference)

    def check(self) -> None:
        """Raise ClosedError if a start failed."""
        if self._why is not None:
            raise ClosedError(self._why)

    def fail(self, error: Exception) -> None:
        """Close the model, since OpenVINO would wait forever."""
        self._why = (
            "this model was closed: a start_async() on its shared queue failed "
            f"({last_line(error)}), and the next one would wait forever; compile the model again"
        )
        for inference in list(self._inferences):
            inference.give_up(self._why)
