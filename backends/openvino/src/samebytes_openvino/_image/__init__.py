# SPDX-License-Identifier: Apache-2.0
"""Models of RGB or BGR images, run on frames as decoders give them: see `image_model`."""
