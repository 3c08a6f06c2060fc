# SPDX-License-Identifier: Apache-2.0
"""The element of pipelines: openvino.infer."""
