# SPDX-License-Identifier: Apache-2.0
"""OpenVINO tensors and remote tensors as samebytes memory."""
