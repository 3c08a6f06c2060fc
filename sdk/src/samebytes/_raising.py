# SPDX-License-Identifier: Apache-2.0
"""Errors, and what their tracebacks hold: the local variables of all functions on their way.

Among these are the tensors and frames that the user was mapping. An error that is itself one of the
variables refers to itself, and holds their memory until the garbage collector runs.
"""

from __future__ import annotations

from typing import NoReturn, TypeVar

__all__ = ["throw", "without_frames"]

E = TypeVar("E", bound=BaseException)


def throw(error: BaseException) -> NoReturn:
    """Raise an error that was just made, with its cause; no variable keeps referring to it.

    Raises:
        BaseException: the error.
    """
    try:
        raise error
    finally:
        del error


def without_frames(error: E) -> E:
    """The error, to be kept: it and the errors that led to it lose their tracebacks."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error
