# SPDX-License-Identifier: Apache-2.0
"""DMA-BUF memory as samebytes tensors."""

__version__ = "0.1.0"
