# SPDX-License-Identifier: Apache-2.0
"""The log of a program that runs a pipeline, on standard error."""

from __future__ import annotations

import logging
import sys

__all__ = ["log_to_stderr"]


class _Handler(logging.Handler):
    """Writes to what is standard error then: a bar, which takes its place, shows it above."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def log_to_stderr(level: str) -> None:
    """Log on standard error, unless there is a handler already.

    Args:
        level: of the records that are shown and those above it, such as "info".
    """
    logging.basicConfig(
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        handlers=[_Handler()],
    )
