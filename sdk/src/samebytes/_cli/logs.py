# SPDX-License-Identifier: Apache-2.0
"""The log of a program that runs a pipeline, on standard error."""

from __future__ import annotations

import logging
import sys

__all__ = ["log_to_stderr"]


class _Handler(logging.Handler):
    """Writes to the current standard error: a progress bar that replaces it shows records above."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def log_to_stderr(level: str) -> None:
    """Log on standard error, unless the program has set up logging.

    A package that logs while it is imported also adds a handler to a root logger without one;
    such a handler is replaced.

    Args:
        level: the lowest level of the records that are shown, such as "info".
    """
    logging.basicConfig(
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        handlers=[_Handler()],
        force=_is_set_up_by_chance(),
    )


def _is_set_up_by_chance() -> bool:
    """True if the root logger is as the first logging.warning() or similar call sets it up."""
    root = logging.getLogger()
    return root.level == logging.WARNING and all(
        type(handler) is logging.StreamHandler
        and handler.formatter is not None
        and handler.formatter._fmt == logging.BASIC_FORMAT
        for handler in root.handlers
    )
