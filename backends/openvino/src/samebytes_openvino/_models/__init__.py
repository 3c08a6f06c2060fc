# SPDX-License-Identifier: Apache-2.0
"""The facts that model files state, and decoders for the outputs of known families.

`_reading` brings both together: the facts and the family of `_families`, and `_detectors`, which
decode outputs into the boxes of `_detections`.
"""
