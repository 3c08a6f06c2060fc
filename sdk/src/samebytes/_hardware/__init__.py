# SPDX-License-Identifier: Apache-2.0
"""The report on this machine's devices that `samebytes doctor --hardware-report` writes."""
