# SPDX-License-Identifier: Apache-2.0
"""The YAML of a model's metadata: keys with a value, a list of values, or a table of values.

That is all that exporters write, and not worth a dependency. Lines of another form are passed over.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["flat_yaml"]

_KEY = re.compile(r"(?P<indent> *)(?P<key>'[^']*'|\"[^\"]*\"|[^\s:'\"][^:]*):(?: +(?P<value>.*))?$")
_ITEM = re.compile(r" *- +(?P<value>.*)$")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def flat_yaml(text: str) -> dict[str, Any]:
    """The top-level entries of a document.

    Args:
        text: of the document.

    Returns:
        Numbers, texts, True, False and None by key; lists of them, and dicts of one level.
    """
    made: dict[str, Any] = {}
    inside = ""
    for line in text.splitlines():
        item, key = _ITEM.match(line), _KEY.match(line)
        if item is not None and inside:
            if not isinstance(made[inside], list):
                made[inside] = []
            made[inside].append(_value(item["value"]))
        elif key is not None and not key["indent"]:
            name = str(_value(key["key"]))
            made[name] = _value(key["value"] or "")
            inside = name
        elif key is not None and inside and made[inside] is not False:
            if not isinstance(made[inside], dict):
                made[inside] = {}
            made[inside][_value(key["key"])] = _value(key["value"] or "")
    return made


def _value(text: str) -> Any:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        inner = text[1:-1]
        return inner.replace("''", "'") if text[0] == "'" else inner.replace('\\"', '"')
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in text[1:-1].split(",") if part.strip()]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
