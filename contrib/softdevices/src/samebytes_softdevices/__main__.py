# SPDX-License-Identifier: Apache-2.0
"""python -m samebytes_softdevices."""

import sys

from samebytes_softdevices._command import main

if __name__ == "__main__":
    sys.exit(main())
