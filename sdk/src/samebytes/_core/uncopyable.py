# SPDX-License-Identifier: Apache-2.0
"""Uncopyable: objects that copy and pickle refuse, since a copied owner would free twice."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, SupportsIndex

__all__ = ["Uncopyable"]


class Uncopyable:
    """copy.copy(), copy.deepcopy() and pickle raise TypeError, with what to do instead."""

    __slots__ = ()

    _instead: ClassVar[str] = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {self._instead}")

    def __copy__(self) -> Any:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: Any) -> Any:
        self.__reduce_ex__(2)
