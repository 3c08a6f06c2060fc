# SPDX-License-Identifier: Apache-2.0
"""json.sink: what frames say of themselves, a line of JSON each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Annotated, Any

from ..metadata import to_json
from ._element import Sink
from ._media import Media
from ._parameters import Doc

__all__ = ["JsonSink"]


class JsonSink(Sink):
    """Writes the metadata of each frame as a line of JSON, in the form of gvametaconvert.

    Each line is written before the frame goes on, so that another program can follow the file.
    """

    path: Annotated[Path | None, Doc("the file, which is replaced; None: standard output")] = None
    append: Annotated[bool, Doc("keep what is in the file")] = False
    add_tensor_data: Annotated[bool, Doc("with the numbers of the tensors of results")] = False
    add_empty_results: Annotated[bool, Doc("a line also for frames without results")] = False
    takes = Media()

    def open(self, context: Any) -> None:
        """Open the file."""
        self._file: IO[str] = (
            sys.stdout
            if self.path is None
            else self.path.open("a" if self.append else "w", encoding="utf-8")
        )

    def write(self, frame: Any) -> None:
        """Write one line, or none for a frame without results."""
        line = to_json(
            frame,
            add_tensor_data=self.add_tensor_data,
            add_empty_results=self.add_empty_results,
        )
        if line:
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        file = vars(self).pop("_file", None)
        if file is not None and file is not sys.stdout:
            file.close()
