# SPDX-License-Identifier: Apache-2.0
"""The common parts of the remote contexts and tensors of GPU and NPU."""
