# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames between processes: their descriptors and layout, over a Unix socket.

The bytes stay where they are. The format is docs/reference/dma-wire.md. Whoever sends is a
stranger: everything that is received is checked here before it is used.
"""
