# SPDX-License-Identifier: Apache-2.0
"""The kit's helpers for memories that are seen by their address or descriptor, and for devices."""

from __future__ import annotations

import ctypes
import os
import re
import textwrap
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.testing import (
    ArrayMemory,
    address_of,
    array_at,
    array_in,
    assert_no_garbage,
    assert_steady,
    device_context,
    missing_device,
    run_program,
)


class Owner:
    """Memory of a framework, which it gives by its address."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = ctypes.create_string_buffer(nbytes)
        self.address = ctypes.addressof(self.bytes)


@pytest.mark.parametrize("strides", [(8, 2), (-8, 2), (16, -2)])
def test_an_array_at_an_address_is_that_memory_and_holds_its_owner(
    strides: tuple[int, int],
) -> None:
    owner = Owner(64)
    alive = weakref.ref(owner)
    info = TensorInfo("uint16", (3, 4), strides)
    first = owner.address - info.extent[0]
    view = array_at(first, info, owner)
    assert (address_of(view), view.strides) == (first, strides)
    view[2, 3] = 0x0201
    place = first + 2 * strides[0] + 3 * strides[1]
    assert ctypes.string_at(place, 2) == b"\x01\x02"
    del owner
    row = view[1:]
    del view
    assert alive() is not None
    del row
    assert alive() is None


def test_an_array_at_an_address_that_must_not_be_written() -> None:
    owner = Owner(4)
    view = array_at(owner.address, TensorInfo("uint8", (4,)), owner, readonly=True)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_an_array_in_a_descriptor_is_that_memory_after_the_descriptor_is_closed() -> None:
    fd, native = os.memfd_create("test"), Owner(1)
    alive = weakref.ref(native)
    os.ftruncate(fd, 4096)
    view = array_in(fd, 4096, TensorInfo("uint8", (4, 8), (16, 1)), 32, native)
    del native
    view[1, 2] = 7
    assert os.pread(fd, 1, 32 + 16 + 2) == b"\x07"
    os.close(fd)
    assert alive() is not None
    assert np.count_nonzero(view) == 1
    del view
    assert alive() is None


def test_the_output_of_a_program() -> None:
    program = """
        import os
        print(os.environ["GREETING"])
    """
    assert run_program(program, GREETING="hello") == "hello\n"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "status 3"),
        ("import os; os.abort()", "status -6"),
        ("import sys; sys.stderr.write('driver: no')", "driver: no"),
        ("import warnings; warnings.warn('old')", "UserWarning: old"),
    ],
)
def test_a_program_that_fails_or_complains(program: str, said: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(said)):
        run_program(program)


def test_the_context_of_a_device_or_a_skip_that_says_how_to_get_one() -> None:
    assert device_context("cpu", "CPU") is samebytes.context("cpu")
    with pytest.raises(pytest.skip.Exception) as skipped:
        device_context("no_such_memory", "GPU")
    assert skipped.value.msg == missing_device("GPU")
    assert "pytest --softdevices=gpu" in missing_device("GPU")


class OnNoDevice(ArrayMemory):
    """Memory of a device that is nowhere."""

    device = "GPU"
    node = "no_such_memory"


def test_memory_skips_the_tests_of_a_device_that_is_missing() -> None:
    ArrayMemory().need()
    with pytest.raises(pytest.skip.Exception) as skipped:
        OnNoDevice().need()
    assert skipped.value.msg == missing_device("GPU")


class SetUps:
    """A plugin of pytest that notes the tests whose set-up failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup" and report.failed:
            assert "Error: asked" in report.longreprtext
            self.failed.append(report.nodeid.split("::")[1])


def test_suites_ask_both_ends_for_what_they_need(tmp_path: Path) -> None:
    program = """
        from samebytes import TensorInfo
        from samebytes.testing import ArrayMemory, MapperSuite, TensorSuite

        class Missing(ArrayMemory):
            def need(self):
                raise ValueError("asked")

        class TestOf(TensorSuite):
            memory = Missing()
            cases = (TensorInfo("uint8", (4,)),)

        class TestFrom(MapperSuite):
            source, target, cases = Missing(), ArrayMemory(), (TensorInfo("uint8", (4,)),)

        class TestTo(MapperSuite):
            source, target, cases = ArrayMemory(), Missing(), (TensorInfo("uint8", (4,)),)
    """
    test, set_ups = tmp_path / "test_missing.py", SetUps()
    test.write_text(textwrap.dedent(program))
    chosen = "same_memory_as_the_native or same_bytes"
    status = pytest.main(
        ["-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-k", chosen, str(test)],
        plugins=[set_ups],
    )
    assert status == pytest.ExitCode.TESTS_FAILED
    assert {*set_ups.failed} == {"TestOf", "TestFrom", "TestTo"}


def test_a_cause_without_a_line_is_not_where_something_broke(tmp_path: Path) -> None:
    """One test fails, by what the subject raised, and the others are skipped."""
    program = """
        from samebytes import TensorInfo
        from samebytes.testing import ArrayMemory, TensorSuite

        class Broken(ArrayMemory):
            def over(self, array):
                raise TypeError("asked") from RuntimeError

        class TestOf(TensorSuite):
            memory = Broken()
            cases = (TensorInfo("uint8", (4,)),)
    """
    test, set_ups = tmp_path / "test_broken.py", SetUps()
    test.write_text(textwrap.dedent(program))
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        "-k",
        "same_memory_as_the_native or closing",
    ]
    status = pytest.main([*options, str(test)], plugins=[set_ups])
    assert status == pytest.ExitCode.TESTS_FAILED
    assert set_ups.failed == ["TestOf"]


class Cycle:
    """Waits for the garbage collector."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("check", [assert_no_garbage, assert_steady])
def test_what_the_first_call_leaves_is_not_counted(check: Callable[..., None]) -> None:
    """A plugin that is imported leaves cycles by the hundred: once."""
    first = iter([500])

    def load_once() -> None:
        for _ in range(next(first, 0)):
            Cycle()

    check(load_once, 20)
    with pytest.raises(AssertionError, match=r"left to the garbage collector: .*Cycle"):
        check(Cycle, 20)
