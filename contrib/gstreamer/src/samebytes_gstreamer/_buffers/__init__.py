# SPDX-License-Identifier: Apache-2.0
"""Buffers as frames and tensors, their contexts, and the edges between them and other memory.

Buffers are made here as well.
"""
