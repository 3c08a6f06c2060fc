# SPDX-License-Identifier: Apache-2.0
"""Host memory types as their own frameworks see them, the devices, and the table of results.

The table is printed at the end of a run. With SAMEBYTES_MATRIX=FILE it is also written to that
file, as the page of the reference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import av
import cv2
import numpy as np
import openvino
import pyopencl
import pytest

from samebytes import ImageInfo, TensorInfo
from samebytes.testing import ArrayMemory, Memory

Array = np.ndarray[Any, Any]

PAGE = "docs/reference/matrix.md"
_FFMPEG_NAMES = {"NV12": "nv12", "I420": "yuv420p", "BGR": "bgr24", "GRAY8": "gray",
                 "P010": "p010le"}  # fmt: skip


class OpenCVMemory(ArrayMemory):
    """Arrays, as OpenCV takes them."""

    memory_type = "opencv"


class OpenVINOMemory(Memory):
    """openvino.Tensor; the planes of frames are [1, rows, columns, channels]."""

    memory_type = "openvino"
    readonly_enforced = False

    def view(self, native: Any) -> Array:
        view: Array = native.data
        return view

    def views(self, native: Any) -> tuple[Array, ...]:
        return tuple(a[0, :, :, 0] if a.shape[-1] == 1 else a[0] for a in map(self.view, native))


class FFmpegMemory(Memory):
    """Frames that FFmpeg allocated, and the plane of a grey one as a tensor."""

    memory_type = "ffmpeg"
    readonly_enforced = False

    def make(self, info: TensorInfo) -> Any:
        rows, columns = info.shape
        return av.VideoFrame(columns, rows, "gray").planes[0]

    def view(self, native: Any) -> Array:
        return np.ndarray(
            (native.height, native.width), np.uint8, native, strides=(native.line_size, 1)
        )

    def make_frame(self, image: ImageInfo) -> Any:
        return av.VideoFrame(image.width, image.height, _FFMPEG_NAMES[str(image.format)])

    def views(self, native: Any) -> tuple[Array, ...]:
        name = next(k for k, v in _FFMPEG_NAMES.items() if v == native.format.name)
        layouts = ImageInfo.of(name, native.width, native.height).plane_layouts()
        views = []
        for plane, layout in zip(native.planes, layouts, strict=True):
            # An image stored bottom up begins with its last row in memory.
            pitch = plane.line_size
            offset = (layout.shape[0] - 1) * -pitch if pitch < 0 else 0
            strides = (pitch, *layout.strides[1:])
            views.append(np.ndarray(layout.shape, layout.dtype, plane, offset, strides))
        return tuple(views)


MEMORIES: dict[str, Memory] = {
    m.memory_type: m for m in (ArrayMemory(), FFmpegMemory(), OpenCVMemory(), OpenVINOMemory())
}


@pytest.fixture
def memories() -> dict[str, Memory]:
    """The memory types by name."""
    return MEMORIES


class Cell(NamedTuple):
    """One cell of the matrix, and the result for it."""

    level: str
    source: str
    target: str
    layout: str
    found: str


_cells = pytest.StashKey[list[Cell]]()


@pytest.fixture
def prove(request: pytest.FixtureRequest) -> Callable[[tuple[str, ...]], None]:
    """Enter (level, source, target, layout, found) into the table once it is proven."""
    cells = request.config.stash.setdefault(_cells, [])
    return lambda cell: cells.append(Cell(*cell))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the matrix."""
    cells = config.stash.get(_cells, [])
    if not cells:
        return
    terminalreporter.section("conformance matrix")
    for line in _table(cells):
        terminalreporter.write_line(line)
    page = os.environ.get("SAMEBYTES_MATRIX")
    if page:
        Path(page).write_text(_page(cells))
        terminalreporter.write_line(f"written to {page}")


_READ = (
    "This is the record of every mapping that was tried. Search it for the row of your source and "
    "target, and the column of your layout. [One table of all "
    "edges](../explanation/copy-or-not.md) sums up what is shared and what is copied."
)
_LEGEND = (
    "A cell has the access modes that share the bytes, as shown by equal pointers and by writes on "
    "either side that are read on the other. no: the mapping is refused, with a reason; after r, "
    "only writing is refused. An empty cell: the source has no such memory or layout."
)
_ORDER = ("tensor", "frame", "device tensor", "device frame", "tensor edge", "frame edge")
_ROWS = (
    "A row names memory and, where it matters, how that was allocated. `dma` is a memfd here, "
    "which stands in for DMA-BUFs."
)
_COMMAND = f"SAMEBYTES_MATRIX={PAGE} pytest --softdevices=gpu,npu,vaapi,cuda tests/matrix"
_EDGES = (
    "Every edge that a plugin declares, used alone, by what it does with the bytes. COPY: equal "
    "values, only with copy=True, and counted."
)


def _levels(cells: list[Cell]) -> list[str]:
    return sorted({c.level for c in cells}, key=_ORDER.index)


def _table(cells: list[Cell]) -> list[str]:
    lines = [_LEGEND]
    for level in _levels(cells):
        header, rows = _rows([c for c in cells if c.level == level])
        table = [(f"{level}s", *header), *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines.append("")
        lines += [
            "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
    return lines


def _page(cells: list[Cell]) -> str:
    versions = (
        f"numpy {np.__version__}, PyAV {av.__version__} (FFmpeg {av.ffmpeg_version_info}), "
        f"OpenCV {cv2.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, "
        f"pyopencl {pyopencl.VERSION_TEXT}"
    )
    devices = openvino.Core()
    names = [devices.get_property(name, "FULL_DEVICE_NAME") for name in devices.available_devices]
    parts = [
        "# What maps to what\n",
        f"{_READ}\n",
        f"{_LEGEND}\n",
        f"{_ROWS}\n",
        f"Written by the tests in tests/matrix: `{_COMMAND}`\n",
        f"With {versions}, on {', '.join(names[1:]) or 'no device'}.\n",
    ]
    for level in _levels(cells):
        header, rows = _rows([c for c in cells if c.level == level])
        parts.append(f"## {level.capitalize()}s\n")
        if level.endswith("edge"):
            parts.append(f"{_EDGES}\n")
        parts.append(f"| source -> target | {' | '.join(header)} |")
        parts.append(f"|{'---|' * (len(header) + 1)}")
        parts += [f"| {' | '.join(row)} |" for row in rows]
        parts.append("")
    return "\n".join(parts)


def _rows(cells: list[Cell]) -> tuple[list[str], list[tuple[str, ...]]]:
    layouts = list(dict.fromkeys(c.layout for c in cells))
    pairs = dict.fromkeys((c.source, c.target) for c in cells)
    rows = []
    for source, target in pairs:
        found = [
            " ".join(
                dict.fromkeys(
                    c.found
                    for c in cells
                    if (c.source, c.target, c.layout) == (source, target, layout)
                )
            )
            for layout in layouts
        ]
        rows.append((f"{source} -> {target}", *found))
    return layouts, rows
