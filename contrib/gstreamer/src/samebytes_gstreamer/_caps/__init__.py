# SPDX-License-Identifier: Apache-2.0
"""Caps: the formats, colours, fields and rates that they say, read and made.

Nothing here knows a buffer.
"""
