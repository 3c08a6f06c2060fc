# SPDX-License-Identifier: Apache-2.0
"""Entry, the base of all typed metadata."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Checked", "Entry"]


class Checked:
    """A base of this package's classes, which sets their values after they were checked."""

    __slots__ = ()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _name(self, field: str) -> str:
        return f"{type(self).__name__}.{field}"


class Entry(Checked):
    """The base of typed metadata: frozen, checked when it is made, compared by value.

    A program may derive classes of its own and add them to frames. They stay in the process:
    `samebytes_ipc.send()` and `to_json()` only know the classes of this module.

    Attributes:
        about_the_whole: True if it describes the whole picture, so that a part of the picture
            does not get it.
    """

    __slots__ = ()

    about_the_whole: ClassVar[bool] = False
