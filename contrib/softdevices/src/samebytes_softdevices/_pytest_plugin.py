# SPDX-License-Identifier: Apache-2.0
"""pytest --softdevices=gpu,npu,vaapi: the tests see these devices.

pytest loads this module in every run, so it imports nothing of weight unless the option is given.
"""

from __future__ import annotations

import pytest

__all__: list[str] = []

_HEADER = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("softdevices").addoption(
        "--softdevices",
        metavar="NAMES",
        default="",
        help="run the tests on these software devices: gpu, npu, vaapi, with commas between",
    )


# First of all, because conftest files may import the frameworks.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Switch the devices on."""
    names = [n.strip() for n in early_config.known_args_namespace.softdevices.split(",")]
    names = [name for name in names if name]
    if not names:
        return
    from samebytes_softdevices._activate import activate_in_process
    from samebytes_softdevices._devices import plan_for
    from samebytes_softdevices._plan import SoftDeviceError

    try:
        plan = plan_for(names)
        activate_in_process(plan)
    except SoftDeviceError as error:
        raise pytest.UsageError(f"--softdevices={','.join(names)}: {error}") from error
    early_config.stash[_HEADER] = f"software devices: {plan.describes}"


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which devices are on."""
    return config.stash.get(_HEADER, None)
