# SPDX-License-Identifier: Apache-2.0
"""What OpenVINO's remote contexts and tensors of GPU and NPU have in common."""
