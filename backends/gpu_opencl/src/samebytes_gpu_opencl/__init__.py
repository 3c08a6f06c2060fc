# SPDX-License-Identifier: Apache-2.0
"""OpenCL buffers, images and USM as samebytes memory."""

__version__ = "0.1.0"
