# SPDX-License-Identifier: Apache-2.0
"""Software GPU, NPU and VA-API devices under the real libraries, for tests without hardware."""

__version__ = "0.1.0"
