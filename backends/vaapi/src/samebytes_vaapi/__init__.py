# SPDX-License-Identifier: Apache-2.0
"""VA-API surfaces as samebytes frames."""
