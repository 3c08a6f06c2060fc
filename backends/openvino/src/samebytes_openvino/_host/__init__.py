# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's tensors in the memory of the CPU: their context, their layouts, and their edges."""
