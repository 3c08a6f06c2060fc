# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: where a run was, for the one who started it, should a signal end the process.

Such a run leaves no report. `dev.py test` loads this with `-p samebytes_crash` and names two files
in the environment: one gets the test that runs, the other the stacks of all threads, which
pytest's own handler would write among thousands of lines of output.
"""

import faulthandler
import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Write the stacks to a file of their own, in place of pytest's standard error."""
    file = Path(os.environ["SAMEBYTES_CRASH_STACKS"]).open("w")  # noqa: SIM115 - until the end
    config.add_cleanup(file.close)
    # pytest disables the handler, and with it this one, when its own is no longer needed.
    faulthandler.enable(file=file)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Name the test that begins."""
    Path(os.environ["SAMEBYTES_CRASH_TEST"]).write_text(nodeid)
