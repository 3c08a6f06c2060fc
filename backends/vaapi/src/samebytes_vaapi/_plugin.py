# SPDX-License-Identifier: Apache-2.0
"""What this plugin declares."""

from __future__ import annotations

from samebytes.plugins import API, Plugin

__all__ = ["PLUGIN"]

PLUGIN = Plugin(api=API, summary="VA-API surfaces as samebytes frames")
