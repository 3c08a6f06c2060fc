# SPDX-License-Identifier: Apache-2.0
"""Values without their secrets: containers, paths and addresses that were taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import ParseResult, SplitResult, urlparse, urlsplit

from ._options import harmless_option
from ._texts import harmless_address, harmless_headers, harmless_text
from ._words import MASK, is_of_headers, is_secret

__all__ = ["harmless"]

# More are a model or a picture.
_MOST_BYTES = 1 << 16


def harmless(value: Any) -> Any:
    """Return what may be shown of a value; the very same object where that is all of it."""
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, bytes) and len(value) <= _MOST_BYTES:
        found = harmless_text(text := value.decode("latin-1"))
        return value if found is text else found.encode("latin-1")
    if isinstance(value, PurePath):
        found = harmless_text(str(value))
        return value if found == str(value) else type(value)(found)
    if isinstance(value, Mapping):
        shown_of = {key: _named(key, one) for key, one in value.items()}
        return shown_of if any(shown_of[key] is not value[key] for key in shown_of) else value
    if type(value) in (list, tuple):
        before = [None, *value]  # as ["ffmpeg", "-passphrase", "..."]
        items = [_behind(option, one) for option, one in zip(before, value, strict=False)]
        changed = any(one is not was for one, was in zip(items, value, strict=True))
        return type(value)(items) if changed else value
    if isinstance(value, SplitResult | ParseResult):
        address = value.geturl()
        if (found := harmless_address(address)) is address:
            return value
        return urlsplit(found) if isinstance(value, SplitResult) else urlparse(found)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = [_named(key, one) for key, one in zip(value._fields, value, strict=True)]
        return value if parts == list(value) else type(value)(*parts)
    if type(value) in (set, frozenset):
        members = {harmless(one) for one in value}
        return value if members == value else type(value)(members)
    return value


def _behind(option: Any, value: Any) -> Any:
    """Return what may be shown of what follows an argument of a command, as -passphrase."""
    if not isinstance(option, str) or option[:1] != "-":
        return harmless(value)
    if isinstance(value, str) and (found := harmless_option(option, value)) != value:
        return found
    return _named(option[1:], value)


def _named(name: object, value: Any) -> Any:
    """Return what may be shown of what has a name."""
    if not isinstance(name, str) or value is None or isinstance(value, bool):
        return harmless(value)
    if is_of_headers(name):
        return harmless_headers(value)
    if is_secret(name):
        return MASK
    return harmless_address(value) if isinstance(value, str) else harmless(value)
