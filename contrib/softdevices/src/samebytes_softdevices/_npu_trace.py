# SPDX-License-Identifier: Apache-2.0
"""Reading the trace that the software NPU writes to the file that SOFTNPU_TRACE names.

csrc/npu/trace.h describes its format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

__all__ = ["NpuTraceRecord", "npu_trace"]

_PREFIX = "softnpu"


@dataclass(frozen=True, slots=True)
class NpuTraceRecord:
    """One line of the trace.

    Attributes:
        call: The operation: mem_alloc, mem_export, mem_free, graph_create, graph_argument,
            graph_execute, queue_submit, copy, fill and others.
        fields: Its values as text; numbers decimal or with 0x, pointers with 0x.
    """

    call: str
    fields: Mapping[str, str]

    def number(self, name: str) -> int:
        """Return a value that is a number or a pointer; NULL is 0.

        Args:
            name: the name of the value.

        Returns:
            The value; 0 for NULL.

        Raises:
            KeyError: the line has no such value.
            ValueError: it is not a number.
        """
        text = self.fields[name]
        return 0 if text == "(nil)" else int(text, 0)

    def pointers(self, name: str = "arguments") -> tuple[int, ...]:
        """Return a value that is a list of pointers: the arguments of graph_execute, in order.

        Args:
            name: the name of the value.

        Returns:
            The addresses, in order.

        Raises:
            KeyError: the line has no such value.
        """
        return tuple(int(text, 0) for text in self.fields[name].split(",") if text)


def npu_trace(path: str | os.PathLike[str], call: str | None = None) -> list[NpuTraceRecord]:
    """Read the trace in the file `path`: all of it, or the lines of one `call`.

    Other lines than the device's are left out (the trace may go to stderr).

    Args:
        path: the file that SOFTNPU_TRACE named.
        call: the name of one call; None for all.

    Returns:
        One record for each line, in the order in which they were written.

    Raises:
        OSError: the file cannot be read.
    """
    records = []
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        prefix, _, rest = line.partition(" ")
        if prefix != _PREFIX or not rest:
            continue
        name, *pairs = rest.split(" ")
        if call is not None and name != call:
            continue
        split = (pair.partition("=") for pair in pairs)
        records.append(NpuTraceRecord(name, {key: unquote(value) for key, _, value in split}))
    return records
