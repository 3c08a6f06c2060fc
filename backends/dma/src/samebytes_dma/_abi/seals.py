# SPDX-License-Identifier: Apache-2.0
"""linux/fcntl.h: the seal that Python's fcntl lacks."""

from __future__ import annotations

__all__ = ["F_SEAL_FUTURE_WRITE"]

F_SEAL_FUTURE_WRITE = 0x0010
