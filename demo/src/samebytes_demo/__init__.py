# SPDX-License-Identifier: Apache-2.0
"""The samebytes demo command: decode, infer, draw and encode on one memory."""
