# SPDX-License-Identifier: Apache-2.0
"""Frames whose pixels belong to a device: AV_PIX_FMT_VAAPI and AV_PIX_FMT_DRM_PRIME."""
