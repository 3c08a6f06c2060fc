# SPDX-License-Identifier: Apache-2.0
"""FFmpeg frames (through PyAV) as samebytes memory."""
