# SPDX-License-Identifier: Apache-2.0
"""GstMemory: its kinds, planes in it, memory of Python lent to GStreamer, and who allocates.

A buffer is more than one of them.
"""
