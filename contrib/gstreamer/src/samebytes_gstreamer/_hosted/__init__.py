# SPDX-License-Identifier: Apache-2.0
"""Elements of samebytes.elements inside GStreamer's pipelines."""
