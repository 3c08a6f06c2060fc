# SPDX-License-Identifier: Apache-2.0
"""The `samebytes` command."""

from __future__ import annotations

from .program import main

__all__ = ["main"]
