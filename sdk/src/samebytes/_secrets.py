# SPDX-License-Identifier: Apache-2.0
"""Passwords, tokens and keys, left out of whatever is shown.

They come with addresses, options and descriptions of pipelines, and return in the texts of the
libraries that were given those. All of that passes here before it is in a message, a repr or a
document. In an address and among headers everything is hidden but what is known to be harmless;
elsewhere what has the name of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TypeVar, overload
from urllib.parse import ParseResult, SplitResult, urlparse, urlsplit

__all__ = ["shown", "without_secrets", "without_secrets_in"]

T = TypeVar("T", str, dict[str, Any], tuple[Any, ...])
E = TypeVar("E", bound=BaseException)

_MASK = "..."


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS_IN_QUERIES = _words(
    """audio backup bitrate buffer_size cam camera channel channels codec compression duration
    fifo_size format fps framerate gop height latency linger listen live localport mode multicast
    overrun_nonfatal pkt_size profile proto protocol quality rate real_stream reconnect resolution
    reuse rotation rtsp_transport size stream streamtype subtype tcp timeout track transport ttl
    udp unicast video width"""
)
_SHORT = re.compile(r"[\w.:,-]{0,16}")

_HARMLESS_HEADERS = _words(
    """accept accept-encoding accept-language accept-ranges cache-control connection content-length
    content-type date host range server user-agent"""
)

# A name is that of a secret if one of its words is, has one of the parts, or has one of the ends;
# not if its last word says that it is about something else, as in key-int-max and auth_type.
_WORDS = _words(
    """auth authentication authorization bearer cred creds jwt key keys login otp pas pass passcode
    pin playpath psk psw pswd pw pwd sid sig streamid token"""
)
_PARTS = ("passw", "passphrase", "secret", "credential", "cookie", "signature", "sessid")
_ENDS = ("key", "keys", "pass", "pas", "pwd", "pw", "auth", "token", "sessionid")
_OTHERS = _words(
    """allpass bandpass bypass chromakey colorkey compass donkey highpass hotkey jockey lowpass
    lumakey monkey multipass surpass turkey twopass whiskey"""
)
_OTHER_LAST = _words(
    """algorithm color colour count dist duration file frame frames int interval length limit max
    memory method min mode path required size suite through type unit units"""
)
_WHOLE = _words("postdata rtmpconn rtmpsubscribe sessionid srtpinparams srtpoutparams")

# Where a text says one of these and a colon, a secret follows; after the others maybe an advice.
_PLAIN_WORDS = ("passw", "passphrase", "pwd", "secret", "credential")
_LINES = ("authorization", "cookie")

# A text without any of these has no secret.
_HINTS = (*(one for one in {*_WORDS, *_PARTS, *_ENDS}
            if not any(other in one for other in {*_WORDS, *_PARTS, *_ENDS} - {one})),
          "sess", "header", "rtmp", "srtp", "post", "://", "?", "@", "%")  # fmt: skip

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

    They are found in addresses (whatever stands before the @ of a host or in a query, and the key
    of a stream behind rtmp://host/application/), in descriptions of pipelines (user-pw=) and in
    headers (Authorization:), wherever these stand in the text; in a mapping also by their names.

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
        shown_of = {key: _named(key, one) for key, one in value.items()}
        return shown_of if any(shown_of[key] is not value[key] for key in shown_of) else value
    if type(value) in (list, tuple):
        before = [None, *value]  # as ["ffmpeg", "-passphrase", "..."]
        items = [
            _named(option[1:] if isinstance(option, str) and option[:1] == "-" else None, one)
            for option, one in zip(before, value, strict=False)
        ]
        changed = any(one is not was for one, was in zip(items, value, strict=True))
        return type(value)(items) if changed else value
    if isinstance(value, SplitResult | ParseResult):
        address = value.geturl()
        if (found := _in_whole(address)) is address:
            return value
        return urlsplit(found) if isinstance(value, SplitResult) else urlparse(found)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = [_named(key, one) for key, one in zip(value._fields, value, strict=True)]
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


def _named(name: object, value: Any) -> Any:
    """Return what may be shown of what has a name."""
    if not isinstance(name, str) or value is None or isinstance(value, bool):
        return without_secrets(value)
    if _is_of_headers(name):
        return _headers(value)
    if _is_secret(name):
        return _MASK
    return _in_whole(value) if isinstance(value, str) else without_secrets(value)


@lru_cache(1024)
def _is_secret(name: str) -> bool:
    words = [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if "".join(words) in _WHOLE:
        return True
    return bool(words) and words[-1] not in _OTHER_LAST and any(
        word in _WORDS or any(part in word for part in _PARTS) or word.endswith(_ENDS)
        for word in words if word not in _OTHERS
    )  # fmt: skip


def _is_of_headers(name: str) -> bool:
    return name.lower().endswith(("header", "headers"))


def _headers(value: Any) -> Any:
    if isinstance(value, str):
        lines = re.split(r"(\\*\r?\n|(?:\\+r)?\\+n)", value)
        return "".join([_header(one) if i % 2 == 0 else one for i, one in enumerate(lines)])
    if isinstance(value, bytes):
        return _headers(value.decode("latin-1")).encode("latin-1")
    if isinstance(value, Mapping):
        return {key: one if str(key).lower() in _HARMLESS_HEADERS else _MASK
                for key, one in value.items()}  # fmt: skip
    return type(value)(map(_headers, value)) if type(value) in (list, tuple) else value


def _header(line: str) -> str:
    name, sign, value = line.partition(":")
    if name.strip().lower() in _HARMLESS_HEADERS or not line.strip():
        return line
    known = re.fullmatch(r"\s*[\w-]+\s*", name) and sign
    return f"{name}:{value[: len(value) - len(value.lstrip())]}{_MASK}" if known else _MASK


def _text(text: str) -> str:
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text
    found = text
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
        found = _KEY_OF_STREAM.sub(rf"\1{_MASK}", found)
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
            user = user[:begin] + (_MASK if begin < len(user) else "")
    word = user + at + after
    begins = _START_ENCODED.search(word)
    ends = list(_AT_ENCODED.finditer(word, begins.end())) if begins else []
    return f"{word[: begins.end()]}{_MASK}@{word[ends[-1].end() :]}" if begins and ends else word


def _user_with_spaces(match: re.Match[str]) -> str:
    port = "." in match[2] and re.match(r"\d{1,5}\s", match[3])
    return match[0] if port or not re.search(r"\s", match[3]) else f"{match[1]}{_MASK}@"


# In quotes it reaches to the end of these: it may have spaces.
_ADDRESS = re.compile(
    r"""(?P<start>(?P<open>\\*["'])?[a-z][a-z\d+.-]+://)
    (?P<rest>(?(open)(?:(?!(?P=open))(?:\\.|.))*|\S*))""",
    re.IGNORECASE | re.VERBOSE,
)
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z\d+.-]+://", re.IGNORECASE)
_QUERY = re.compile(r"\?(?=[^\s=?&;'\"]+=)(\S+)")
_IN_PATH = re.compile(r"([/;&#])([a-z_][\w.%-]*)([=:])([^/;&\s]+)", re.IGNORECASE)
_BETWEEN_PARTS = re.compile(rf"(&|;(?=(?:{'|'.join(sorted(_HARMLESS_IN_QUERIES))})=))")
_NAME_IN_QUERY = re.compile(r"[\w.%~$\[\]-]{1,40}")
_KEY_OF_STREAM = re.compile(
    r"""(\brtmp\w*:/{1,2}[^/\s]+/[^/\s]+/|\brtmp2\w*\b[^!\n]{0,500}?\bstream\s*=\s*)[^\s'"?]+"""
)
_AFTER = "'\")]}>,.;:\\"


def _in_whole(text: str) -> str:
    """Return what may be shown of a text that may be one address, with spaces in it."""
    start = _WHOLE_ADDRESS.match(text)
    found = start[0] + _in_address(text[start.end() :], whole=True) if start else text
    found = _text(found)
    return text if found == text else found


def _in_address(rest: str, whole: bool) -> str:
    user, at, host = rest.rpartition("@")
    # Spaces and slashes can be in a password.
    if whole and at and re.search("[:@]", user) and not _HOST_AND_QUERY.match(user):
        rest = f"{_MASK}@{host}"
    path, mark, query = rest.partition("?")
    return _IN_PATH.sub(_part_of_path, path) + mark + _query(query)


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
    if (name if sign else word).lower() in _HARMLESS_IN_QUERIES and _SHORT.fullmatch(word):
        return name + sign + value
    if sign and word.strip("=") and _NAME_IN_QUERY.fullmatch(name):
        return f"{name}{sign}{_MASK}{after}"
    if not word and (said or not sign):  # it is masked, or there is nothing
        return name + sign + value
    return _MASK + after  # a word alone, or the = that base64 has at its end


# name=value, name=(type)value, 'name': value, Name: value and -name value.
_NAME = re.compile(
    r"""(?:(?<![\w.%\\-])|(?<=\\[rnt]))(?P<dashes>--?)?(?P<name>[a-z_][\w.-]*+)
    (?P<sign>\s*=\s*+(?:\(\w+\)\s*+)? | \\*["']\s*:\s*+ | :[ ]*+ | (?(dashes)[ ]++|(?!)))""",
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
_MASKED = re.compile(rf"{re.escape(_MASK)}(?:[\s&!?#{re.escape(_AFTER)}]|$)")


# What GStreamer says of one that is not possible.
_PROPERTY = re.compile(r"""(\bproperty ["'](?P<name>[\w.-]+)["'][^\n]*? to )"[^\n]*\"""")


def _property(match: re.Match[str]) -> str:
    secret = _is_secret(match["name"]) or _is_of_headers(match["name"])
    return f"{match[1]}{_MASK}" if secret else match[0]


def _values(text: str) -> str:
    """The text without the values whose names are those of secrets."""
    parts, done = [], 0
    for match in _NAME.finditer(text):
        name, start = match["name"], match.end()
        if match.start() < done or _MASKED.match(text, start):
            continue
        if _is_of_headers(name) and match["sign"] != " ":
            value = _VALUE.match(text, start)
            if value and ("=" in match["sign"] or value["quote"]):
                quote = f"{value['slash']}{value['quote']}" if value["quote"] else ""
                inner = _headers(value["inner"]) if quote else _MASK
                parts += [text[done:start], f"{quote}{inner}{quote}"]
                done = value.end()
            continue
        if not _is_secret(name):
            continue
        value = _extent(match).match(text, start)
        word = value[0] if value else ""
        if value and not value.groupdict().get("quote") and word[:1] not in "<[{(":
            word = word.rstrip(_AFTER)
        if word:
            parts += [text[done:start], _MASK]
            done = start + len(word)
    return "".join([*parts, text[done:]]) if parts else text


def _extent(name: re.Match[str]) -> re.Pattern[str]:
    """Return what matches the value that follows: in prose only what is one for sure."""
    text, word = name.string, name["name"].lower()
    before = text[: name.start()]
    lines = _LINES if name["sign"][0] == ":" else _LINES[:1]
    if any(one in word for one in lines) and text[name.end() : name.end() + 1] not in _OPENING:
        return _LINE
    if name["sign"][0] != ":":
        return _VALUE_IN_QUERY if before.endswith(("?", "&", ";")) else _VALUE
    starts = not before or before.endswith(("\n", "\r", "\\n", "\\r", '"', "'"))
    if word.startswith("x-") or (starts and ("-" in word or name["name"][0].isupper())):
        return _LINE
    return _VALUE if any(one in word for one in _PLAIN_WORDS) else _NOTHING


_NOTHING = re.compile("")
_OPENING = "\"'\\<[({"
