# SPDX-License-Identifier: Apache-2.0
"""Passwords, tokens and keys in texts: in addresses, in headers, and behind their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ._options import without_options
from ._words import (
    HARMLESS_APPLICATIONS,
    HARMLESS_HEADERS,
    HARMLESS_IN_QUERIES,
    LINES,
    MASK,
    PLAIN_WORDS,
    is_harmless,
    is_of_headers,
    is_secret,
)

__all__ = ["harmless_address", "harmless_headers", "harmless_text"]


def harmless_text(text: str) -> str:
    """Return what may be shown of a text; the very same where that is all of it."""
    if is_harmless(text):
        return text
    found, lower = text, text.lower()
    if "@" in lower or "40" in lower:
        found = _USER_WITH_SPACES.sub(_user_with_spaces, found)
        found = _WORD.sub(_user, found)
    if "://" in lower:
        found = _ADDRESS.sub(
            lambda match: match["start"] + _in_address(match["rest"], bool(match["open"])), found
        )
    if "?" in lower:
        found = _QUERY.sub(lambda match: f"?{_query(match[1])}", found)
    if "rtmp" in lower:
        found = _KEY_OF_STREAM.sub(rf"\1{MASK}", found)
        found = _ONE_SEGMENT.sub(_one_segment, found)
    if "-p" in lower or "-u" in lower:
        found = without_options(found)
    if "property " in lower:
        found = _PROPERTY.sub(_property, found)
    found = _values(found)
    return text if found == text else found


# Many passwords have an @ that should have been written %40: what is before the last one counts.
_WORD = re.compile(r"\S+")
_USER_WITH_SPACES = re.compile(r"""(:/{1,2})([^\s/:@]*):([^\n/"']*)@""")
_START_ENCODED = re.compile(r"%(?:25)*3A(?:%(?:25)*2F){1,2}", re.IGNORECASE)
_AT_ENCODED = re.compile(r"%(?:25)*40")
_HOST_AND_QUERY = re.compile(r"[^\s/:@?]*(?::\d{1,5})?(?:/[^\s?@]*)?\?[\w.%~$\[\]-]+=")
_START_OF_HOST = re.compile(r":/{1,2}|^//")
_COLON = re.compile(r":(?!/)")
_NO_NAME = re.compile(r"[^\w.%+-]")


def _user(match: re.Match[str]) -> str:
    user, at, after = match[0].rpartition("@")
    if at:
        host = _START_OF_HOST.search(user)
        begin = host.end() if host else 0
        if not (host and _HOST_AND_QUERY.match(user, begin)):
            if not host or ("/" in user[begin:] and ":" not in user[begin:].partition("/")[0]):
                colon = _COLON.search(f"{user}@", begin)
                end = colon.start() if colon else begin
                name = _NO_NAME.split(user[begin:end])[-1]
                begin = end - len(name) if name else len(user)
            user = user[:begin] + (MASK if begin < len(user) else "")
    word = user + at + after
    begins = _START_ENCODED.search(word)
    ends = list(_AT_ENCODED.finditer(word, begins.end())) if begins else []
    return f"{word[: begins.end()]}{MASK}@{word[ends[-1].end() :]}" if begins and ends else word


def _user_with_spaces(match: re.Match[str]) -> str:
    port = "." in match[2] and re.match(r"\d{1,5}\s", match[3])
    return match[0] if port or not re.search(r"\s", match[3]) else f"{match[1]}{MASK}@"


# In quotes it reaches to the end of these: it may have spaces.
_ADDRESS = re.compile(
    r"""(?P<start>(?P<open>\\*["'])?[a-z][a-z\d+.-]+://)
    (?P<rest>(?(open)(?:(?!(?P=open))(?:\\.|.))*|\S*))""",
    re.IGNORECASE | re.VERBOSE,
)
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z\d+.-]+://", re.IGNORECASE)
_QUERY = re.compile(r"\?(?=[^\s=?&;'\"]+=)(\S+)")
_IN_PATH = re.compile(r"([/;&#])([a-z_][\w.%-]*)([=:])([^/;&\s]+)", re.IGNORECASE)
_BETWEEN_PARTS = re.compile(rf"(&|;(?=(?:{'|'.join(sorted(HARMLESS_IN_QUERIES))})=))")
_SHORT = re.compile(r"[\w.:,-]{0,16}")
_NAME_IN_QUERY = re.compile(r"[\w.%~$\[\]-]{1,40}")
_KEY_OF_STREAM = re.compile(
    r"""(\brtmp\w*:/{1,2}[^/\s]+/[^/\s]+/|\brtmp2\w*\b[^!\n]{0,500}?\bstream\s*=\s*)[^\s'"?]+"""
)
_ONE_SEGMENT = re.compile(r"""(\brtmp\w*:/{1,2}[^/\s]+/)([^/\s'"?&;]+)(?=[\s'"?]|$)""")
_AFTER = "'\")]}>,.;:\\"


def harmless_address(text: str) -> str:
    """Return what may be shown of a text that may be one address, with spaces in it."""
    start = _WHOLE_ADDRESS.match(text)
    found = start[0] + _in_address(text[start.end() :], whole=True) if start else text
    found = harmless_text(found)
    return text if found == text else found


def _in_address(rest: str, whole: bool) -> str:
    user, at, host = rest.rpartition("@")
    # Spaces and slashes can be in a password.
    if whole and at and re.search("[:@]", user) and not _HOST_AND_QUERY.match(user):
        rest = f"{MASK}@{host}"
    path, mark, query = rest.partition("?")
    return _IN_PATH.sub(_part_of_path, path) + mark + _query(query)


def _one_segment(match: re.Match[str]) -> str:
    """A path of one word is the name of an application, or the key of a stream."""
    before, word = match.groups()
    name = word.rstrip(_AFTER)
    if not name or name.lower() in HARMLESS_APPLICATIONS:
        return match[0]
    return f"{before}{MASK}{word[len(name) :]}"


def _part_of_path(match: re.Match[str]) -> str:
    before, name, sign, value = match.groups()
    return f"{before}{_part(name, sign, value)}"


def _query(query: str) -> str:
    parts = _BETWEEN_PARTS.split(query)
    return "".join([one if i % 2 else _part(*one.partition("=")) for i, one in enumerate(parts)])


def _part(name: str, sign: str, value: str) -> str:
    said = value if sign else name
    word = said.rstrip(_AFTER)
    after = said[len(word) :]
    if (name if sign else word).lower() in HARMLESS_IN_QUERIES and _SHORT.fullmatch(word):
        return name + sign + value
    if sign and word.strip("=") and _NAME_IN_QUERY.fullmatch(name):
        return f"{name}{sign}{MASK}{after}"
    if not word and (said or not sign):  # it is masked, or there is nothing
        return name + sign + value
    return MASK + after  # a word alone, or the = that base64 has at its end


def harmless_headers(value: Any) -> Any:
    """Return what may be shown of headers: a text of lines, a mapping, or a list of these."""
    if isinstance(value, str):
        lines = re.split(r"(\\*\r?\n|(?:\\+r)?\\+n)", value)
        return "".join([_header(one) if i % 2 == 0 else one for i, one in enumerate(lines)])
    if isinstance(value, bytes):
        return harmless_headers(value.decode("latin-1")).encode("latin-1")
    if isinstance(value, Mapping):
        return {key: one if str(key).lower() in HARMLESS_HEADERS else MASK
                for key, one in value.items()}  # fmt: skip
    return type(value)(map(harmless_headers, value)) if type(value) in (list, tuple) else value


def _header(line: str) -> str:
    name, sign, value = line.partition(":")
    if name.strip().lower() in HARMLESS_HEADERS or not line.strip():
        return line
    known = re.fullmatch(r"\s*[\w-]+\s*", name) and sign
    return f"{name}:{value[: len(value) - len(value.lstrip())]}{MASK}" if known else MASK


# As GStreamer writes them; other words in brackets are a value.
_TYPES = r"""[biudfs]|g?u?int\d*|bool(?:ean)?|float|double|str(?:ing)?|gchararray|fraction|bitmask|
    flags|enum|structure|caps|buffer|sample|array|list|taglist|G(?:st)?[A-Z]\w*"""

# name=value, name=(type)value, 'name': value, Name: value and -name value.
_NAME = re.compile(
    rf"""(?:(?<![\w.%\\-])|(?<=\\[rnt]))(?P<dashes>--?)?(?P<name>[a-z_][\w.-]*+)
    (?P<sign>\s*=\s*+(?:\((?:{_TYPES})\)\s*+)?
        | \\*["']\s*:\s*+ | :[ ]*+ | (?(dashes)[ ]++|(?!)))""",
    re.IGNORECASE | re.VERBOSE,
)

# A quote within a quoted text has backslashes before it. A word goes on after a backslash and a
# space.
_VALUE = re.compile(
    r"""(?P<slash>\\*)(?P<quote>["'])(?P<inner>(?:(?!(?P=slash)(?P=quote))(?:\\+.|.))*+)
        (?P=slash)(?P=quote)(?=[\s,;:.!)\]}>'"\\]|$)
    | \\*["'][^\n]*
    | <(?:"[^"]*"|'[^']*'|[^<>"'])*>
    | \[(?:"[^"]*"|'[^']*'|[^\[\]"'])*\]
    | \{(?:"[^"]*"|'[^']*'|[^{}"'])*\}
    | \((?:"[^"]*"|'[^']*'|[^()"'])*\)
    | (?:\\+\s|\S)*""",
    re.VERBOSE | re.DOTALL,
)
_VALUE_IN_QUERY = re.compile(r"[^\s&]*")
_LINE = re.compile(r"""[^\r\n'"]*?(?=\\+[rn]|[\r\n'"]|$)""")
_MASKED = re.compile(rf"{re.escape(MASK)}(?:[\s&!?#{re.escape(_AFTER)}]|$)")


# GStreamer's message about one that is not possible.
_PROPERTY = re.compile(r"""(\bproperty ["'](?P<name>[\w.-]+)["'][^\n]*? to )"[^\n]*\"""")


def _property(match: re.Match[str]) -> str:
    secret = is_secret(match["name"]) or is_of_headers(match["name"])
    return f"{match[1]}{MASK}" if secret else match[0]


def _values(text: str) -> str:
    """The text without the values whose names are those of secrets."""
    parts, done = [], 0
    for match in _NAME.finditer(text):
        name, start = match["name"], match.end()
        if match.start() < done or _MASKED.match(text, start):
            continue
        if is_of_headers(name) and match["sign"] != " ":
            value = _VALUE.match(text, start)
            if value and ("=" in match["sign"] or value["quote"]):
                quote = f"{value['slash']}{value['quote']}" if value["quote"] else ""
                inner = harmless_headers(value["inner"]) if quote else MASK
                parts += [text[done:start], f"{quote}{inner}{quote}"]
                done = value.end()
            continue
        if not is_secret(name):
            continue
        value = _extent(match).match(text, start)
        word = value[0] if value else ""
        if value and not value.groupdict().get("quote") and word[:1] not in "<[{(":
            word = word.rstrip(_AFTER)
        if word:
            parts += [text[done:start], MASK]
            done = start + len(word)
    return "".join([*parts, text[done:]]) if parts else text


def _extent(name: re.Match[str]) -> re.Pattern[str]:
    """Return what matches the value that follows: in prose only what is one for sure."""
    text, word = name.string, name["name"].lower()
    before = text[: name.start()]
    lines = LINES if name["sign"][0] == ":" else LINES[:1]
    if any(one in word for one in lines) and text[name.end() : name.end() + 1] not in _OPENING:
        return _LINE
    if name["sign"][0] != ":":
        return _VALUE_IN_QUERY if before.endswith(("?", "&", ";")) else _VALUE
    starts = not before or before.endswith(("\n", "\r", "\\n", "\\r", '"', "'"))
    if word.startswith("x-") or (starts and ("-" in word or name["name"][0].isupper())):
        return _LINE
    return _VALUE if any(one in word for one in PLAIN_WORDS) else _NOTHING


_NOTHING = re.compile("")
_OPENING = "\"'\\<[({"
