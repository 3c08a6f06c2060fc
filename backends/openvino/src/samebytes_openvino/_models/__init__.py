# SPDX-License-Identifier: Apache-2.0
"""The facts that model files state, and decoders for the outputs of known families.

`_reading` brings both together; `_yolo` and `_detectors` decode outputs into the boxes of `_found`.
"""
