# SPDX-License-Identifier: Apache-2.0
"""Passwords, tokens and keys, left out of whatever is shown.

They come with addresses, options and descriptions of pipelines, and return in the texts of the
libraries that were given those. All of that passes here before it is in a message, a repr or a
document. In an address and among headers everything is hidden but what is known to be harmless;
elsewhere what has the name of a secret.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar, overload

from ._words import MASK, is_harmless, is_secret

__all__ = ["shown", "without_secrets", "without_secrets_in"]

T = TypeVar("T", str, dict[str, Any], tuple[Any, ...])
E = TypeVar("E", bound=BaseException)

# Where exceptions of Python keep texts that are not among their args.
_KEPT = ("filename", "filename2", "strerror", "text", "msg", "name", "path", "object", "reason",
         "value", "code")  # fmt: skip

_LONGEST = 100


@overload
def without_secrets(value: T) -> T: ...
@overload
def without_secrets(value: Any) -> Any: ...
def without_secrets(value: Any) -> Any:
    """The value as it may be shown: passwords, tokens and keys are replaced by "...".

    They are found in addresses (whatever stands before the @ of a host or in a query, and the key
    of a stream behind rtmp://host/application/), in descriptions of pipelines (user-pw=) and in
    headers (Authorization:), wherever these stand in the text; in a mapping also by their names.

    Args:
        value: a text, bytes or a path; or a list, tuple, set or mapping, with what is in them.

    Returns:
        The very same object where there is nothing to leave out. Other objects as they are.
    """
    if isinstance(value, str) and is_harmless(value):
        return value
    try:
        from ._values import harmless  # knows addresses and paths: not before one may be there
    except OSError:  # no descriptor is left, to read the module: that is the error to be shown
        return _hidden(value)
    return harmless(value)


def _hidden(value: Any) -> Any:
    """A value of which nothing is shown but texts that are harmless for sure, and numbers."""
    if isinstance(value, tuple):
        return tuple(map(without_secrets, value))
    if isinstance(value, dict):
        return {key: MASK if is_secret(str(key)) else without_secrets(value[key]) for key in value}
    return value if value is None or isinstance(value, int | float) else MASK


class _HarmlessGroup(ExceptionGroup[Exception]):
    """A group shows the message that it was made with, which cannot be replaced."""

    @property
    def message(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        count = len(self.exceptions)
        return f"{self.message} ({count} sub-exception{'s' if count != 1 else ''})"


def without_secrets_in(error: E) -> E:
    """The error of a library or a program: it and what led to it say no secret any more.

    Args:
        error: an exception, whose texts are replaced.
    """
    links: list[BaseException | None] = [error]
    seen = set()
    while links:
        link = links.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        link.args = without_secrets(link.args)
        vars(link).update(without_secrets(vars(link)))
        for name in _KEPT:
            with suppress(Exception):  # a property of its class, which may do anything
                value = getattr(link, name)
                if (harmless := without_secrets(value)) is not value:
                    setattr(link, name, harmless)
        links += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            links += link.exceptions
            if type(link) is ExceptionGroup and link.message != link.args[0]:
                link.__class__ = _HarmlessGroup
    return error


def shown(value: object, longest: int | None = _LONGEST) -> str:
    """The repr of a parameter, without its secrets, and not a model's whole text.

    Args:
        value: whatever it is.
        longest: how many characters at most; None for all of it.
    """
    text = without_secrets(repr(without_secrets(value)))
    return text if longest is None or len(text) <= longest else f"{text[:longest]}..."
