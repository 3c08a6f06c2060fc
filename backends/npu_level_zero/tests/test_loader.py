# SPDX-License-Identifier: Apache-2.0
"""Finding the loader, its errors by name, and that nothing is loaded before it is needed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest

import samebytes_npu_level_zero
from samebytes.errors import MissingDependencyError, NativeError, SamebytesError
from samebytes_npu_level_zero import LevelZeroError, NotExportableError, _loader
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._abi.structures import (
    ze_command_queue_group_properties_t,
    zel_component_version_t,
)
from samebytes_npu_level_zero._loader import Library, load, open_library


def test_importing_loads_no_library() -> None:
    program = (
        "import samebytes, samebytes_npu_level_zero as z, samebytes_npu_level_zero._context\n"
        "samebytes.installed_plugins(); z.LevelZeroContext\n"
        "print('libze' in open('/proc/self/maps').read())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_no_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loader, "LIBRARY_NAME", "libze_loader_of_nobody.so.1")
    monkeypatch.setattr(_loader, "_loaded", [])
    monkeypatch.setattr(_loader, "_opened", [])
    with pytest.raises(MissingDependencyError) as caught:
        load()
    assert caught.value.plugin == "level_zero"
    assert "libze_loader_of_nobody.so.1" in caught.value.missing
    assert "apt install libze1" in caught.value.hint


def test_no_driver(monkeypatch: pytest.MonkeyPatch, fake: Any) -> None:
    fake.handlers["zeInit"] = lambda flags: Result.ERROR_UNINITIALIZED
    monkeypatch.setattr(_loader, "_loaded", [])
    monkeypatch.setattr(_loader, "_opened", [])
    opened = 0

    def open_it() -> Any:
        nonlocal opened
        opened += 1
        return fake

    monkeypatch.setattr(_loader, "open_library", open_it)
    with pytest.raises(MissingDependencyError) as caught:
        load()
    assert caught.value.missing
    assert caught.value.hint
    fake.handlers["zeInit"] = lambda flags: Result.ERROR_DEVICE_LOST
    with pytest.raises(LevelZeroError, match="ZE_RESULT_ERROR_DEVICE_LOST"):
        load()
    fake.handlers.clear()
    assert load() is load(), "a failure is not remembered, a success is"
    assert opened == 1, "each one that is opened leaves garbage"


def test_a_loader_without_a_function_that_all_have() -> None:
    with pytest.raises(MissingDependencyError, match="zeInit"):
        Library(object())


def test_failed_calls_are_named(fake: Any) -> None:
    fake.handlers["zeMemFree"] = lambda context, pointer: 0x78000004
    with pytest.raises(LevelZeroError) as caught:
        Library(fake).call("zeMemFree", 1, 2)
    error = caught.value
    assert (error.call, error.code) == ("zeMemFree", 0x78000004)
    assert error.name == "ZE_RESULT_ERROR_INVALID_ARGUMENT"
    assert str(error).startswith("zeMemFree failed with ZE_RESULT_ERROR_INVALID_ARGUMENT")
    assert isinstance(error, NativeError | SamebytesError)
    again = pickle.loads(pickle.dumps(NotExportableError("zeX", Result.ERROR_NOT_AVAILABLE, "y")))
    assert (again.call, again.name) == ("zeX", "ZE_RESULT_ERROR_NOT_AVAILABLE")


def test_a_code_of_tomorrow(fake: Any) -> None:
    fake.handlers["zeMemFree"] = lambda context, pointer: 0x7ABCDEF0
    with pytest.raises(LevelZeroError, match="0x7abcdef0"):
        Library(fake).call("zeMemFree", 1, 2)


def test_an_optional_function_that_the_loader_lacks(fake: Any) -> None:
    class Older:
        def __getattr__(self, name: str) -> Any:
            if name in ("zeDevicePciGetPropertiesExt", "zelLoaderGetVersions"):
                raise AttributeError(name)
            return getattr(fake, name)

    library = Library(Older())
    with pytest.raises(LevelZeroError, match="UNSUPPORTED_FEATURE"):
        library.call("zeDevicePciGetPropertiesExt", 1, 2)
    assert library.version() == "unknown"


def test_lists_are_asked_for_their_length_first(fake: Any) -> None:
    def list_handles(_parent: int, count: Any, out: Any) -> None:
        number = fake.argument(count)
        if out is None:
            number.value = 3
        else:
            number.value = 2  # one was unplugged in between
            out[0], out[1] = 0x10, 0x20

    def list_groups(_parent: int, count: Any, out: Any) -> None:
        fake.argument(count).value = 1
        if out is not None:
            assert out[0].stype == ze_command_queue_group_properties_t.STYPE
            out[0].numQueues = 7

    fake.handlers["zeDeviceGet"] = list_handles
    fake.handlers["zeDeviceGetCommandQueueGroupProperties"] = list_groups
    library = Library(fake)
    assert library.handles("zeDeviceGet", 1) == [0x10, 0x20]
    (group,) = library.properties(
        "zeDeviceGetCommandQueueGroupProperties", 1, ze_command_queue_group_properties_t
    )
    assert group.numQueues == 7
    assert library.handles("zeDriverGet") == []


def test_the_loaders_version(fake: Any) -> None:
    def versions(count: Any, out: Any) -> None:
        fake.argument(count).value = 2
        if out is not None:
            assert isinstance(out[0], zel_component_version_t)
            out[0].component_name = b"tracing layer"
            out[1].component_name = b"loader"
            out[1].component_lib_version.major = 1
            out[1].component_lib_version.minor = 32

    fake.handlers["zelLoaderGetVersions"] = versions
    assert Library(fake).version() == "1.32.0"


@pytest.mark.usefixtures("device")
def test_the_installed_loader() -> None:
    assert load() is load()
    assert load().version() != "unknown"
    assert open_library()._name == _loader.LIBRARY_NAME


def test_public_names_come_when_asked_for() -> None:
    for name in samebytes_npu_level_zero.__all__:
        assert getattr(samebytes_npu_level_zero, name).__module__.startswith(
            "samebytes_npu_level_zero."
        )
    assert set(samebytes_npu_level_zero.__all__) < set(dir(samebytes_npu_level_zero))
    with pytest.raises(AttributeError, match="no_such"):
        samebytes_npu_level_zero.no_such  # type: ignore[attr-defined]  # noqa: B018
