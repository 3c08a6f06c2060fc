# SPDX-License-Identifier: Apache-2.0
"""Models of RGB or BGR images, run on frames as decoders give them: see `image_model`.

`_planner` chooses the memory, `_build` adds what converts the planes (`_pixels`). `_model_input` is
the model's side, `_letterbox` the part of a picture that it sees: the crop, the letterbox and the
turn by a frame's rotation. Of a batch, the items are several frames or parts of one (`_batches`).
"""
