# SPDX-License-Identifier: Apache-2.0
"""libgstapp-1.0.so.0: buffers for an appsrc."""

from __future__ import annotations

from ctypes import c_int, c_void_p

__all__ = ["APP", "GST_FLOW_OK"]

GST_FLOW_OK = 0
"""gst/gstpad.h: GstFlowReturn."""

APP = {
    # gst/app/gstappsrc.h: it takes over the reference to the buffer.
    "gst_app_src_push_buffer": (c_int, c_void_p, c_void_p),
}
