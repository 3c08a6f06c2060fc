# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames between processes: their descriptors and layout, over a Unix socket.

The bytes stay where they are. The format is docs/reference/dma-wire.md. The sender is
not trusted: everything that is received is checked here before it is used.
"""
