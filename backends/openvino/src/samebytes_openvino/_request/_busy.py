# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's error for a request that runs in another thread, as a BusyError."""

from __future__ import annotations

from types import TracebackType

from samebytes.errors import BusyError

__all__ = ["REPORTING_BUSY", "check_busy"]

# What ov::Busy says, which Python gets as a plain RuntimeError: src/inference/src/dev/
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
