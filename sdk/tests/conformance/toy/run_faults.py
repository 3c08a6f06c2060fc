# SPDX-License-Identifier: Apache-2.0
"""Run the toy's suites with each fault, in a fork each: the imports take longer than the tests.

Arguments: the file of the suites, and a JSON object of the faults, each with the expression that
selects tests. Prints a JSON array for each fault as soon as it was tried: the fault, pytest's
status and output.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import samebytes.testing  # noqa: F401 - what the forks share

OPTIONS = [
    "-p", "no:cacheprovider", "-q", "--tb=short", "-rfE", "-W", "ignore", "-c", os.devnull,
    str(Path(__file__).with_name(sys.argv[1])),
]  # fmt: skip


def run(fault: str, expression: str) -> tuple[int, str]:
    """pytest's status and output."""
    output, end = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(end, 1)
        os.dup2(end, 2)
        os.close(output)
        os.environ["TOY_FAULT"] = fault
        status = pytest.main([*OPTIONS, "-k", expression])
        sys.stdout.flush()
        os._exit(status)
    os.close(end)
    with open(output) as text:  # noqa: PTH123 - a descriptor
        printed = text.read()
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended), printed


for each, selected in json.loads(sys.argv[2]).items():
    sys.stdout.write(json.dumps([each, *run(each, selected)]) + "\n")
    sys.stdout.flush()
