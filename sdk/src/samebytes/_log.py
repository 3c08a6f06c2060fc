# SPDX-License-Identifier: Apache-2.0
"""The logger "samebytes", whose records contain no secrets.

Video libraries write addresses into their messages with the passwords in them. Every record passes
a filter that leaves these out.
"""

from __future__ import annotations

import logging

from ._secrets import without_secrets, without_secrets_in

__all__ = ["logger"]


class _WithoutSecrets(logging.Filter):
    """Leaves secrets out of a record: out of its text, and the error whose traceback it shows.

    A filter of a logger does not see the records of loggers below it, so each of ours has one.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if (harmless := without_secrets(text)) is not text:
            # As long as there is nothing to hide, the text before its arguments are put in stays:
            # programs that collect records sort them by it.
            record.msg, record.args = harmless, ()
        if record.exc_info and record.exc_info[1] is not None:
            without_secrets_in(record.exc_info[1])
        return True


_HIDES = _WithoutSecrets()


def logger(part: str = "") -> logging.Logger:
    """The logger "samebytes", or one below it; its records contain no secrets.

    It gets the messages that an element or a plugin would otherwise print. Like the loggers of
    other libraries, it prints nothing by itself.

    Args:
        part: the name of the plugin that it is for: "toy" for "samebytes.toy".
    """
    top = logging.getLogger("samebytes")
    if not top.handlers:
        top.addHandler(logging.NullHandler())
    found = logging.getLogger(f"samebytes.{part}") if part else top
    found.addFilter(_HIDES)  # once, however often it is added
    return found
