# SPDX-License-Identifier: Apache-2.0
"""The option pytest --softdevices=gpu,npu,vaapi,cuda, with which tests see these devices.

A device that cannot be used here ends the run, so that no job is green without it. With
--softdevices-optional it is left out: the report says why, and tests that need it skip.

pytest loads this module in every run, so it imports nothing heavy unless the option is given.
"""

from __future__ import annotations

import pytest

__all__: list[str] = []

_HEADER = pytest.StashKey[str]()
_MISSING = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("softdevices")
    group.addoption(
        "--softdevices",
        metavar="NAMES",
        default="",
        help="run the tests on these software devices: gpu, npu, vaapi, cuda; commas between",
    )
    group.addoption(
        "--softdevices-optional",
        action="store_true",
        help="leave out a software device that cannot be used here, and say why, in place of "
        "ending the run",
    )


# Before all others, because conftest files may import the frameworks.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Switch the devices on."""
    options = early_config.known_args_namespace
    names = [name.strip() for name in options.softdevices.split(",") if name.strip()]
    if not names:
        return
    from samebytes_softdevices._activate import activate_in_process
    from samebytes_softdevices._devices import plan_for, usable
    from samebytes_softdevices._plan import SoftDeviceError

    try:
        missing: dict[str, str] = {}
        if options.softdevices_optional:
            names, missing = usable(names)
        plan = plan_for(names)
        activate_in_process(plan)
    except SoftDeviceError as error:
        raise pytest.UsageError(f"--softdevices={options.softdevices}: {error}") from error
    early_config.stash[_HEADER] = f"software devices: {plan.describes or 'none'}"
    early_config.stash[_MISSING] = [
        f"missing device {name.upper()}: {why}" for name, why in missing.items()
    ]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Report which devices are on, and which are not."""
    if _HEADER not in config.stash:
        return []
    return [config.stash[_HEADER], *config.stash[_MISSING]]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Report at the end which devices were missing, since -q hides the header."""
    missing = config.stash.get(_MISSING, [])
    if not missing:
        return
    terminalreporter.section("software devices that cannot be used here")
    for line in missing:
        terminalreporter.write_line(line)
