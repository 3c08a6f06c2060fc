# SPDX-License-Identifier: Apache-2.0
"""Run the toy's suites with each fault, in a fork each: the imports take longer than the tests.

Arguments: the file of the suites, and a JSON object of the faults, each with the expression that
selects tests. Prints a JSON array for each fault as soon as it was tried: the fault, pytest's
status and output.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

import samebytes.testing  # noqa: F401 - as in a test, before the suites
from samebytes.testing import _threads

OPTIONS = [
    "-p", "no:cacheprovider", "-q", "--tb=short", "-rfEs", "-W", "ignore", "-c", os.devnull,
]  # fmt: skip
SUITES = str(Path(__file__).with_name(sys.argv[1]))


def get_ready() -> None:
    """Import what each fork would import again, and let its collections pass over all of that.

    A run without tests loads pytest's plugins, and the kit as pytest rewrites it. The toy comes
    later: its modules ask for the fault when they are imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "test_nothing.py")
        file.write_text("from samebytes.testing import *\n")
        output = os.dup(1)
        os.dup2(2, 1)
        pytest.main([*OPTIONS, str(file)])
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)
    gc.collect()
    gc.freeze()


def run(fault: str, expression: str) -> tuple[int, str]:
    """pytest's status and output."""
    output, end = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(end, 1)
        os.dup2(end, 2)
        os.close(output)
        os.environ["TOY_FAULT"] = fault
        if fault != "none":
            _threads._PATIENCE_S = 1.0  # for what a fault never gives back
        status = pytest.main([*OPTIONS, SUITES, "-k", expression])
        sys.stdout.flush()
        os._exit(status)
    os.close(end)
    with open(output) as text:  # noqa: PTH123 - a descriptor
        printed = text.read()
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended), printed


get_ready()
for each, selected in json.loads(sys.argv[2]).items():
    sys.stdout.write(json.dumps([each, *run(each, selected)]) + "\n")
    sys.stdout.flush()
