# SPDX-License-Identifier: Apache-2.0
"""OpenCV Mat and UMat as samebytes memory."""
