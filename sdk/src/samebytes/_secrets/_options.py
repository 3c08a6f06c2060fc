# SPDX-License-Identifier: Apache-2.0
"""Passwords behind options of one letter, as commands take them: -p PASSWORD, -u USER:PASSWORD."""

from __future__ import annotations

import re

from ._words import MASK

__all__ = ["harmless_option", "without_options"]

_OPTION = re.compile(
    r"""(?<![\w.-])(?P<name>-[pu]|--user|--proxy-user)(?P<sign>\s*=\s*|[ ]+)
    (?P<value>"[^"\n]*"|'[^'\n]*'|[^\s'"]+)""",
    re.VERBOSE | re.IGNORECASE,
)
# Of ports (ssh -p 22, docker -p 8080:80), folders (mkdir -p ./a) and plugins (pytest -p no:x).
_HARMLESS = re.compile(r"""["']?(?:[\d.:,/-]*|\.{0,2}/\S*|no:\w+)["']?""")


def without_options(text: str) -> str:
    """Return what may be shown of a text in which such options may stand."""
    return _OPTION.sub(
        lambda match: (
            match["name"] + match["sign"] + harmless_option(match["name"], match["value"])
        ),
        text,
    )


def harmless_option(name: str, value: str) -> str:
    """Return what may be shown of the value of an option: of users what is before the colon."""
    if name.lower() == "-p":
        return value if _HARMLESS.fullmatch(value) or value == MASK else MASK
    if name.lower() not in ("-u", "--user", "--proxy-user"):
        return value
    user, colon, _ = value.partition(":")
    quote = user[:1] if user[:1] in "\"'" else ""
    return f"{user}:{MASK}{quote}" if colon else value
