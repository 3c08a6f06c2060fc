# SPDX-License-Identifier: Apache-2.0
"""OpenCL for ctypes: structures, constants and prototypes, without any logic.

The names are the headers' own. pyopencl has the rest.
"""
