# SPDX-License-Identifier: Apache-2.0
"""Entry, from which all typed metadata derive."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Checked", "Entry"]


class Checked:
    """The common part of this package's classes, which set their values once they are checked."""

    __slots__ = ()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _name(self, field: str) -> str:
        return f"{type(self).__name__}.{field}"


class Entry(Checked):
    """The base of typed metadata: frozen, checked when it is made, compared by value.

    A program may derive classes of its own and add them to frames. They stay in the process:
    `samebytes_ipc.send()` and `to_json()` know the classes of this module alone.

    Attributes:
        about_the_whole: whether it speaks of the whole picture, so that a part of the picture
            does not have it.
    """

    __slots__ = ()

    about_the_whole: ClassVar[bool] = False
