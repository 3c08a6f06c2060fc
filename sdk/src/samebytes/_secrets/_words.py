# SPDX-License-Identifier: Apache-2.0
"""The names of what is secret, and of what is known to be harmless."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = [
    "HARMLESS_APPLICATIONS",
    "HARMLESS_HEADERS",
    "HARMLESS_IN_QUERIES",
    "LINES",
    "MASK",
    "PLAIN_WORDS",
    "is_harmless",
    "is_of_headers",
    "is_secret",
]

MASK = "..."


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HARMLESS_IN_QUERIES = _words(
    """audio backup bitrate buffer_size cam camera channel channels codec compression duration
    fifo_size format fps framerate gop height latency linger listen live localport mode multicast
    overrun_nonfatal pkt_size profile proto protocol quality rate real_stream reconnect resolution
    reuse rotation rtsp_transport size stream streamtype subtype tcp timeout track transport ttl
    udp unicast video width"""
)

HARMLESS_APPLICATIONS = _words("app broadcast cam camera hls live live2 publish show stream tv vod")

HARMLESS_HEADERS = _words(
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
PLAIN_WORDS = ("passw", "passphrase", "pwd", "secret", "credential")
LINES = ("authorization", "cookie")

_ALL = {*_WORDS, *_PARTS, *_ENDS}
# A text without any of these has no secret.
_HINTS = (*(one for one in _ALL if not any(other in one for other in _ALL if other is not one)),
          "sess", "header", "rtmp", "srtp", "post", "://", "?", "@", "%", "-p", "-u")  # fmt: skip


def is_harmless(text: str) -> bool:
    """True if a text has no secret for sure, as most have none."""
    lower = text.lower()
    for hint in _HINTS:  # noqa: SIM110 - all() of a generator takes twice as long
        if hint in lower:
            return False
    return True


@lru_cache(1024)
def is_secret(name: str) -> bool:
    """True if what has this name is a secret."""
    words = [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if "".join(words) in _WHOLE:
        return True
    return bool(words) and words[-1] not in _OTHER_LAST and any(
        word in _WORDS or any(part in word for part in _PARTS) or word.endswith(_ENDS)
        for word in words if word not in _OTHERS
    )  # fmt: skip


def is_of_headers(name: str) -> bool:
    """True if what has this name is headers of HTTP."""
    return name.lower().endswith(("header", "headers"))
