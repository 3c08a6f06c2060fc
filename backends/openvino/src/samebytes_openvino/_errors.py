# SPDX-License-Identifier: Apache-2.0
"""Errors of OpenVINO: of its remote contexts and tensors, and of requests that are in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from samebytes.errors import (
    BusyError,
    DeviceMismatchError,
    LayoutError,
    NativeError,
    NotHostVisibleError,
)

__all__ = [
    "REPORTING_BUSY",
    "ForeignMemoryError",
    "OpenVINOError",
    "PropertyError",
    "RegionError",
    "check_busy",
    "last_line",
    "naming",
]


class PropertyError(LayoutError):
    """A remote property cannot have the value that it was given.

    Attributes:
        property: its key, as OpenVINO spells it ("MEM_HANDLE").
    """

    def __init__(self, property_: str, message: str) -> None:
        self.property = property_
        super().__init__(f"{property_}: {message}")


class ForeignMemoryError(DeviceMismatchError):
    """A remote property names an object of another native context.

    Attributes:
        property: its key, as OpenVINO spells it ("MEM_HANDLE").
    """

    def __init__(self, property_: str, message: str) -> None:
        self.property = property_
        super().__init__(f"{property_}: {message}")


class RegionError(LayoutError, NotHostVisibleError):
    """A remote tensor may be a region of another one, and then its start is unknown.

    OpenVINO gives a region (openvino.RemoteTensor(parent, begin, end)) the handle and the
    properties of the whole tensor. Inferences use its own bytes.
    """


class OpenVINOError(NativeError):
    """A call of OpenVINO's failed. It has messages and no codes: `code` is 0.

    Attributes:
        call: the method that failed.
    """

    def __init__(self, call: str, message: str) -> None:
        super().__init__(call, 0, message)
        self.args = (f"{call} failed: {message}",)


@contextmanager
def naming(call: str) -> Iterator[None]:
    """Turn OpenVINO's RuntimeError into one that names the call.

    OpenVINO's message ends with what went wrong; before that it lists places in its sources.
    """
    try:
        yield
    except NativeError:
        raise
    except RuntimeError as error:
        raise OpenVINOError(call, last_line(error)) from error


def last_line(error: Exception) -> str:
    """The cause of an error of OpenVINO's: the last line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


# The message of ov::Busy, which Python gets as a plain RuntimeError: src/inference/src/dev/
# iasync_infer_request.cpp of OpenVINO.
_NATIVE_MESSAGE = "Infer Request is busy"


def check_busy(error: RuntimeError) -> None:
    """Raise BusyError from OpenVINO's error, if it means that the request is in use."""
    if _NATIVE_MESSAGE in str(error):
        raise BusyError(
            "another thread is running an inference on this InferRequest: use one request for "
            "each thread, or let the threads take turns with a lock"
        ) from error


class _ReportingBusy:
    """`with REPORTING_BUSY:` around calls of an openvino.InferRequest.

    Raises:
        BusyError: another thread runs an inference on it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, RuntimeError):
            check_busy(error)


REPORTING_BUSY = _ReportingBusy()
