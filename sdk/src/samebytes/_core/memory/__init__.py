# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames, and how they are laid out and described."""
