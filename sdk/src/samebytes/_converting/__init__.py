# SPDX-License-Identifier: Apache-2.0
"""Frame.convert: pictures of another format and size, by what plugins declare."""
