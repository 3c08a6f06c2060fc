# SPDX-License-Identifier: Apache-2.0
"""The list of what a report may say: every field, and the texts that it may have.

What is not in the list is left out, whoever wrote it, so a report holds no path, no name of a host
or user, no serial number and no text of an error. The same list reads what was sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["ALLOWED", "VERSION", "allowed"]

# No "/", "\\" or "@": no path and no address of a host or a person.
_NAME = r"[\w (),.:;+#\[\]'&-]{1,120}"
VERSION = r"\d{1,12}(\.\d{1,8}){0,5}([-+.]?[A-Za-z0-9]{1,12}){0,2}"
"""The pattern of a version."""
_NODE = r"\w{1,30}(:\w{1,30})?"
_HOW = "in place|with a copy|mapped, not seen by the CPU|wrong bytes"
_BY = rf"|{_HOW}|[A-Za-z_][\w:]{{1,80}}( -?\d{{1,12}})?"
_NUMBER = "a number"

ALLOWED: Mapping[str, Any] = {
    "date": r"\d{4}-\d\d-\d\d",
    "samebytes": VERSION,
    "python": VERSION,
    "system": r"[\w.]{1,20} ?[\w.]{0,20}",
    "kernel": r"\d{1,4}(\.\d{1,4}){0,3}",
    "processor": _NAME,
    "versions": [{"plugin": r"\w{1,30}", "of": r"[\w .+-]{1,40}", "version": VERSION}],
    "devices": [{"node": _NODE, "kind": r"\w{1,20}", "name": _NAME}],
    "checks": [
        {
            "node": _NODE,
            "check": rf"device|memory|frame|from cpu|to {_NODE}",
            "result": "passed|refused|not offered|failed|hung|crashed|not run",
            "by": _BY,
        }
    ],
    "benchmarks": [
        {
            "plugin": r"\w{1,30}",
            "row": r"[\w :,()>.+-]{1,80}",
            "ratio": _NUMBER,
        }
    ],
}
"""By field: the pattern that its text matches, or the fields of each item of a list."""

_MOST = 1000
"""Items of a list, at most."""


def allowed(said: Any, fields: Mapping[str, Any] = ALLOWED) -> dict[str, Any]:
    """The fields of a report, taken from this. A text that does not match is "", a number None."""
    found: dict[str, Any] = {}
    for name, rule in fields.items():
        value = said.get(name) if isinstance(said, dict) else None
        if isinstance(rule, list):
            items = value if isinstance(value, list) else []
            found[name] = [allowed(item, rule[0]) for item in items[:_MOST]]
        elif rule is _NUMBER:
            number = float(value) if isinstance(value, int | float) else math.inf
            found[name] = round(number, 2) if abs(number) < 1e9 else None
        else:
            matches = isinstance(value, str) and re.fullmatch(rule, value, re.ASCII)
            found[name] = value if matches else ""
    return found
