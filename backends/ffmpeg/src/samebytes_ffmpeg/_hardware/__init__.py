# SPDX-License-Identifier: Apache-2.0
"""Frames whose pixels belong to a device: AV_PIX_FMT_VAAPI, _DRM_PRIME and _CUDA."""
