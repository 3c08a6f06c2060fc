# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames as messages: their descriptors and layout, written and read.

The bytes stay where they are. The format is docs/reference/wire-format.md. The sender is
not trusted: everything that is received is checked here before it is used.
"""
