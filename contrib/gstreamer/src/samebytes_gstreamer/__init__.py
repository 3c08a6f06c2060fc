# SPDX-License-Identifier: Apache-2.0
"""GStreamer buffers as samebytes frames."""
