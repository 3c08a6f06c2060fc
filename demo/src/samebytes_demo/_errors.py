# SPDX-License-Identifier: Apache-2.0
"""The demo's own error."""

from __future__ import annotations

__all__ = ["DemoError"]


class DemoError(Exception):
    """A request of the user that cannot be met; the message says why and what to do."""
