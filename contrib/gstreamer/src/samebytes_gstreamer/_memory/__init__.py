# SPDX-License-Identifier: Apache-2.0
"""GstMemory: its kinds, planes in it, memory of Python lent to GStreamer, and allocation.

A buffer can consist of several of them.
"""
