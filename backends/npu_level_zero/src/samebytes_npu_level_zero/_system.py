# SPDX-License-Identifier: Apache-2.0
"""The kind of system: memory is shared by NT handles on Windows, elsewhere by descriptors."""

from __future__ import annotations

import os

__all__ = ["WINDOWS"]

WINDOWS = os.name == "nt"
"""Read it as `_system.WINDOWS`: tests set it."""
