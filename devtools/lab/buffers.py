# SPDX-License-Identifier: Apache-2.0
"""The kernel's own list of live DMA-BUFs (debugfs, drivers/dma-buf/dma-buf.c: bufinfo)."""

from dataclasses import dataclass
from pathlib import Path

BUFINFO = Path("/sys/kernel/debug/dma_buf/bufinfo")


@dataclass(frozen=True)
class Buffer:
    """One DMA-BUF: its unique inode, its size in bytes, its exporter and its name."""

    inode: int
    size: int
    exporter: str
    name: str

    def __str__(self) -> str:
        named = f", {self.name}" if self.name != "<none>" else ""
        return f"DMA-BUF {self.inode} of {self.exporter}, {self.size} bytes{named}"


def live_buffers(text: str | None = None) -> dict[int, Buffer]:
    """The live DMA-BUFs by inode, of `text` or of the running kernel."""
    buffers = {}
    for line in (BUFINFO.read_text() if text is None else text).splitlines():
        # size, flags, mode, count, exp_name, ino, name; other lines have fewer fields or words.
        fields = line.split("\t", 6)
        if len(fields) == 7 and fields[0].isdigit():
            inode = int(fields[5])
            buffers[inode] = Buffer(inode, int(fields[0]), fields[4], fields[6])
    return buffers
