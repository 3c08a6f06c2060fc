# SPDX-License-Identifier: Apache-2.0
"""Elements of pipelines: ffmpeg.source and ffmpeg.sink."""
