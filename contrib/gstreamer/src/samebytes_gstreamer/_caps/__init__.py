# SPDX-License-Identifier: Apache-2.0
"""Caps: the formats, colours, fields and rates in them, read and written.

Nothing here knows a buffer.
"""
