# SPDX-License-Identifier: Apache-2.0
"""The room of a run: a folder with the files that cases share, and what runs beside them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .material import make_video

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Room"]


class Room:
    """Files that are made once, and services that are started once; a context manager.

    Args:
        folder: where the files are.

    Attributes:
        kept: what cases found out and can use again, by name.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: dict[str, Any] = {}
        self._services = ExitStack()
        self._numbers = itertools.count()

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what the first `make` for that name returned, entered if it is a context manager.

        Args:
            name: of the thing.
            make: called once.
        """
        if name not in self.kept:
            made = make()
            if hasattr(made, "__exit__"):
                made = self._services.enter_context(made)
            self.kept[name] = made
        return self.kept[name]

    def video(self, codec: str, container: str, frames: int) -> Path:
        """A video of the pictures.

        Args:
            codec, container: FFmpeg's names.
            frames: how many.
        """
        path = self.folder / f"{codec}.{container}"
        if not path.exists():
            make_video(path, codec, container, frames)
        return path

    def new(self, ending: str) -> Path:
        """A path of a file that does not exist."""
        return self.folder / f"written-{next(self._numbers)}{ending}"

    def address(self) -> str:
        """A new address of a ring."""
        return f"@samebytes-product-{os.getpid()}-{next(self._numbers)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._services.close()
