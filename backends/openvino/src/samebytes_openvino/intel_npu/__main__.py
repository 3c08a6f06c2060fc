# SPDX-License-Identifier: Apache-2.0
"""python -m samebytes_openvino.intel_npu: the reference page of the properties."""

from __future__ import annotations

import sys

from ._properties import properties_as_markdown

sys.stdout.write(properties_as_markdown())
