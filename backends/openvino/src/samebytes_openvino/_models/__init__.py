# SPDX-License-Identifier: Apache-2.0
"""What model files say of themselves, and how the outputs of known families are read."""
