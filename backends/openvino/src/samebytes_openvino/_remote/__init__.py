# SPDX-License-Identifier: Apache-2.0
"""What the remote contexts and tensors of GPU and NPU share."""
