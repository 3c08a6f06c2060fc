# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's tensors in the memory of the CPU: their context and their edges (`_tensor`).

`_layout` describes arrays as OpenVINO does, and `_pinned` keeps memory alive while OpenVINO uses a
tensor over it.
"""
