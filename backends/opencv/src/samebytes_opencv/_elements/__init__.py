# SPDX-License-Identifier: Apache-2.0
"""Elements of pipelines: opencv.draw and opencv.scale."""
