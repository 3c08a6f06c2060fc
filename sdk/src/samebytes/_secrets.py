# SPDX-License-Identifier: Apache-2.0
"""Passwords, tokens and keys, left out of whatever is shown.

They come with addresses and descriptions of pipelines, and return in the texts of the libraries
that were given those. All of that passes here before it is in a message, a repr or a document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar, overload
from urllib.parse import ParseResult, SplitResult

__all__ = ["shown", "without_secrets", "without_secrets_in"]

T = TypeVar("T", str, dict[str, Any], tuple[Any, ...])
E = TypeVar("E", bound=BaseException)

_MASK = "..."

# Names that end in one of these; the short ones only where they are a word of the name.
_NAME = r"""(?:[\w.-]*(?:password|passwd|passphrase|pwd|token|secret|credentials?|signature|loginpas
|session[-_]?id|playpath
|(?:api|access|account|secret|private|stream|session|encryption|decryption|srtp|crypto)[-_.]?key)
|(?:[\w.-]*[-_.])?(?:pass|psw|pw|sig|auth|jwt))"""

_HEADER = r"(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token))"

# Where exceptions of Python keep texts that are not among their args.
_KEPT = ("filename", "filename2", "strerror", "text", "msg", "name", "path", "object", "reason",
         "value", "code")  # fmt: skip

_LONGEST = 100

# More are a model or a picture.
_MOST_BYTES = 1 << 16


@overload
def without_secrets(value: T) -> T: ...
@overload
def without_secrets(value: Any) -> Any: ...
def without_secrets(value: Any) -> Any:
    """The value as it may be shown: passwords, tokens and keys are replaced by "...".

    They are found in addresses (rtsp://user:password@host, ?token=, the key of a stream behind
    rtmp://host/application/), in descriptions of pipelines (user-pw=) and in headers
    (Authorization:), wherever these stand in the text; in a mapping also by their names.

    Args:
        value: a text, bytes or a path; or a list, tuple, set or mapping, with what is in them.

    Returns:
        The very same object where there is nothing to leave out. Other objects as they are.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes) and len(value) <= _MOST_BYTES:
        found = _text(text := value.decode("latin-1"))
        return value if found is text else found.encode("latin-1")
    if isinstance(value, PurePath):
        found = _text(str(value))
        return value if found == str(value) else type(value)(found)
    if isinstance(value, Mapping):
        shown_of = {key: _MASK if _is_secret(key, one) else without_secrets(one)
                    for key, one in value.items()}  # fmt: skip
        return shown_of if any(shown_of[key] is not value[key] for key in shown_of) else value
    if type(value) in (list, tuple):
        items = [without_secrets(one) for one in value]
        changed = any(one is not before for one, before in zip(items, value, strict=True))
        return type(value)(items) if changed else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = [_MASK if _is_secret(key, one) else without_secrets(one)
                 for key, one in zip(value._fields, value, strict=True)]  # fmt: skip
        if isinstance(value, SplitResult | ParseResult):  # whose host stands without its "//"
            parts[1] = _text(f"//{value.netloc}")[2:]
        return value if parts == list(value) else type(value)(*parts)
    if type(value) in (set, frozenset):
        members = {without_secrets(one) for one in value}
        return value if members == value else type(value)(members)
    return value


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
    text = _text(repr(without_secrets(value)))
    return text if longest is None or len(text) <= longest else f"{text[:longest]}..."


def _text(text: str) -> str:
    found = text
    if "@" in found or "%40" in found:
        for pattern in _users():
            found = pattern.sub(rf"\1:{_MASK}@", found)
    if "=" in found or ":" in found:
        for pattern, replacement in _named():
            found = pattern.sub(replacement, found)
    return text if found == text else found


def _is_secret(name: object, value: object) -> bool:
    if not isinstance(name, str) or value is None or isinstance(value, bool):
        return False
    return any(one.fullmatch(name) for one in _whole_names())


@cache
def _whole_names() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(one, re.IGNORECASE | re.VERBOSE) for one in (_NAME, _HEADER))


@cache
def _users() -> tuple[re.Pattern[str], ...]:
    """Patterns for a user and password before the host of an address, also without its scheme.

    They reach to the last @ of the word, since many passwords have one that should have been
    written %40.
    """
    return (
        re.compile(r"(:/{1,2}[^\s/:@]*):\S*@"),
        re.compile(r"""(:/{1,2}[^\s/:@]*):(?!\d{1,5}\s)[^\n/"'@]*@"""),  # with spaces
        re.compile(r"(%3A(?:%2F){1,2}[\w.~+-]*)%3A[^\s&]*%40", re.IGNORECASE),
        re.compile(r"""(?<![^\s/'"(=,])([\w.%+-]+):(?!/)\S*@"""),
    )


@cache
def _named() -> tuple[tuple[re.Pattern[str], str], ...]:
    flags = re.IGNORECASE | re.VERBOSE
    ends = "(?P=slash)(?P=quote)"  # a quote within a quoted text has backslashes before it
    quoted = rf"""(?P<slash>\\*)(?P<quote>["'])(?:(?!{ends})(?:\\.|.))*{ends}"""
    bare = r"""[^\s&]*?(?=['")\]},.;:]*(?:[\s&]|$))"""
    masked = r"""\.\.\.(?:[\s&'")\]},;.]|$)"""  # by an earlier pass
    return (
        (
            re.compile(
                rf"""((?:(?<![\w.-]){_NAME}|(?<=[?&;])key)(?:["']\s*:\s*+|\s*=\s*+(?:\(\w+\))?+))
                (?!{masked})(?:{quoted}|{bare})""",
                flags,
            ),
            rf"\1{_MASK}",
        ),
        (
            re.compile(
                rf"""\b({_HEADER})(["']?\s*[:=]\s*+(?:\(\w+\))?+)(?!\.\.\.)
                (?:{quoted}|[^\r\n'"]*?(?=\\[rn]|[\r\n'"]|$))""",
                flags,
            ),
            rf"\1\2{_MASK}",
        ),
        (re.compile(r"""(\brtmp\w*:/{1,2}[^/\s]+/[^/\s]+/)[^\s'"?]+"""), rf"\1{_MASK}"),
    )
