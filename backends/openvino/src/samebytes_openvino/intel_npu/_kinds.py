# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory and of tensor of OpenVINO's NPU plugin."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass

__all__ = ["FileDescriptor", "MemType", "TensorType"]


# The enumerations of openvino/runtime/intel_npu/remote_properties.hpp. Properties take the names.
class MemType(enum.Enum):
    """The origin of a remote tensor's memory."""

    L0_INTERNAL_BUF = "L0_INTERNAL_BUF"
    """Level Zero memory that the plugin allocates. It cannot be exported."""
    SHARED_BUF = "SHARED_BUF"
    """A DMA-BUF file descriptor on Linux, an NT handle on Windows."""
    MMAPED_FILE = "MMAPED_FILE"
    """A part of a file."""
    CPU_VA = "CPU_VA"
    """Whole pages of the application's own memory."""


class TensorType(enum.Enum):
    """The purpose of a remote tensor."""

    INPUT = "INPUT"
    """The device only reads it. The memory is write-combined: slow to read for the CPU."""
    OUTPUT = "OUTPUT"
    """The device writes it."""
    BINDED = "BINDED"
    """Both."""


@dataclass(frozen=True, slots=True)
class FileDescriptor:
    """A part of a file, for `ZeroContext.create_tensor`.

    Attributes:
        path: of the file.
        offset: of the tensor's first byte; a multiple of the page size.
    """

    path: str | os.PathLike[str]
    offset: int = 0
