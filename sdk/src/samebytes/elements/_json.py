# SPDX-License-Identifier: Apache-2.0
"""json.sink: what frames say of themselves, a line of JSON each."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Any
from weakref import WeakValueDictionary

from .._core.owner.locks import Lock
from ..errors import ElementError
from ..metadata import to_json
from ._element import Sink
from ._media import Media
from ._parameters import Doc
from ._per_stream import StreamName, stream_of

__all__ = ["JsonSink"]

_opening = Lock()
_written: WeakValueDictionary[Path, IO[str]] = WeakValueDictionary()
"""Files that sinks of this process write, so that none is begun again meanwhile."""


class JsonSink(Sink):
    """Writes the metadata of each frame as a line of JSON, in the form of gvametaconvert.

    Each line is written before the frame goes on, so that another program can follow the file. With
    "{stream}" in its `path` it writes a file for each stream: see `StreamName`.
    """

    path: Annotated[
        Path | None,
        Doc(
            'the file, which is replaced; with "{stream}" in it, one for each stream; None: '
            "standard output"
        ),
    ] = None
    append: Annotated[bool, Doc("keep what is in the file")] = False
    add_tensor_data: Annotated[bool, Doc("with the numbers of the tensors of results")] = False
    add_empty_results: Annotated[bool, Doc("a line also for frames without results")] = False
    takes = Media()

    def open(self, context: Any) -> None:
        """Open the file; of several, each when the first frame of its stream comes."""
        self._name = StreamName(str(self.path))
        self._files: dict[int, IO[str]] = {}
        if not self._name.varies:
            self._file_of(0)

    def write(self, frame: Any) -> None:
        """Write one line, or none for a frame without results."""
        file = self._file_of(stream_of(frame) if self._name.varies else 0)
        line = to_json(
            frame,
            add_tensor_data=self.add_tensor_data,
            add_empty_results=self.add_empty_results,
        )
        if line:
            file.write(line + "\n")
            file.flush()

    def close(self) -> None:
        """Close the files."""
        with ExitStack() as closing:  # all of them, whatever one raises
            for file in vars(self).pop("_files", {}).values():
                if file is not sys.stdout:
                    closing.callback(file.close)

    def _file_of(self, stream: int) -> IO[str]:
        file = self._files.get(stream)
        if file is None:
            path = None if self.path is None else Path(self._name.of(stream))
            file = sys.stdout if path is None else self._opened(path)
            self._files[stream] = file
        return file

    def _opened(self, path: Path) -> IO[str]:
        mode = "a" if self.append else "w"
        with _opening:
            other = _written.get(path.resolve())
            # Several may append lines to a file. A device or a pipe has as many users as it likes.
            shared = other is None or other.closed or mode == other.mode == "a"
            if path.is_file() and not shared:
                raise ElementError(
                    self.name,
                    f"{path} is being written already: each sink needs a file of its own, or all "
                    "append=True",
                    parameters=self.changed_parameters,
                )
            file: IO[str] = path.open(mode, encoding="utf-8")
            _written[path.resolve()] = file
        return file
