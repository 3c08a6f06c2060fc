# SPDX-License-Identifier: Apache-2.0
"""Users' words for memory types, and the suggestions that users get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import samebytes as sb
from samebytes.errors import UnknownNameError, UnsupportedObjectError

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

CONTEXTS = sorted({p for one in sb.installed_plugins() for p in one.memory_types} - {"cpu"})


@pytest.fixture
def only_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No plugin but the core's own is in use, as a word means the same whatever is installed."""
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu")
    sb.refresh()
    yield
    monkeypatch.undo()
    sb.refresh()


def error_for(name: str) -> UnknownNameError:
    with pytest.raises(UnknownNameError) as caught:
        sb.context(name)
    return caught.value


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("cv2", ("opencv",)),
        ("Mat", ("opencv",)),
        ("umat", ("opencv_umat",)),
        ("av", ("ffmpeg",)),
        ("PyAV", ("ffmpeg",)),
        ("gst", ("gstreamer",)),
        ("ze", ("level_zero",)),
        ("level-zero-usm", None),
        ("cl", ("opencl",)),
        ("gpu", ("openvino:GPU", "opencl")),
        ("GPU.1", None),
        ("npu", ("openvino:NPU", "level_zero")),
        ("va-api", ("vaapi",)),
        ("dmabuf", ("dma",)),
        ("opencv:umat", ("opencv_umat",)),
        ("cv2:0", ("opencv",)),
        ("rocm", ()),
        ("nvidia", ("cuda",)),
        ("apple", None),
    ],
)
@pytest.mark.usefixtures("only_cpu")
def test_words(word: str, meant: tuple[str, ...] | None) -> None:
    error = error_for(word)
    # For other names than these words, what looks like them is suggested.
    assert error.nearest == meant if meant is not None else error.nearest in ((), ("cpu",))
    assert all(repr(name) in str(error) for name in meant or ())


@pytest.mark.parametrize(
    ("word", "how"),
    [
        ("numpy", "tensor.native is a numpy.ndarray"),
        ("torch", "torch.from_dlpack(tensor)"),
        ("jax", "jax.dlpack.from_dlpack(tensor)"),
        ("tensorflow", "the library's from_dlpack(tensor)"),
    ],
)
def test_array_libraries_are_cpu_memory(word: str, how: str) -> None:
    error = error_for(word)
    assert error.nearest == ("cpu",)
    assert 'map("cpu"), ' in str(error)
    assert how in str(error)


def test_rocm_is_not_a_slip_of_another_name(site: Site) -> None:
    site.plugin(
        "rocks",
        """
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="rocks", context="rocks_plugin:Here")]
""",
    )
    assert error_for("rockm").nearest[0] == "rocks"
    assert "did you mean" not in str(error_for("rocm"))
    assert "known: cpu" in str(error_for("rocm"))


def test_what_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_DISABLE", "opencv")
    sb.refresh()
    try:
        # The second where the tests run without that plugin.
        said = str(error_for("cv2"))
        assert "plugin 'opencv' was set aside" in said or "'opencv' is not installed" in said
    finally:
        monkeypatch.undo()
        sb.refresh()


def test_a_plugin_without_memory_types_is_not_said_to_be_missing(site: Site) -> None:
    site.plugin("alpha")
    ready = [one for one in sb.installed_plugins() if one.state == "ready"]
    for name in ("alpha", *(one.name for one in ready if not one.memory_types)):
        assert f"plugin {name!r} has no memory type" in str(error_for(name))
        assert "is not installed" not in str(error_for(name))


def test_what_is_not_there_at_all_says_how_to_get_it(site: Site) -> None:
    """An interpreter without the folder where the plugins are installed."""
    code = """
try:
    sb.probe("cv2")
except sb.errors.UnknownNameError as error:
    print(error.nearest, error)
"""
    said = site.python_alone(code, "opencv")
    assert said.startswith("('opencv',) ")
    assert "to get it: pip install " in said
    assert '"samebytes[opencv]"' in said


@pytest.mark.usefixtures("only_cpu")
def test_no_word_is_a_name() -> None:
    """A word that is a name too would suggest another one where that plugin is not in use."""
    for name in CONTEXTS:
        assert {*error_for(name).nearest} <= {"cpu", name}


@pytest.mark.parametrize("name", ["CPU", "Cpu", "CPU:0"])
def test_case(name: str) -> None:
    assert error_for(name).nearest[0].startswith("cpu")


@pytest.mark.parametrize("bad", [3, None, b"cpu", 1.0])
def test_targets_that_are_not_names(bad: Any) -> None:
    for ask in (
        lambda: sb.context(bad),
        lambda: sb.route(bad, "cpu"),
        lambda: sb.route("cpu", bad),
        lambda: sb.tensor(bytearray(4)).map(bad),
    ):
        with pytest.raises(UnsupportedObjectError, match="memory type"):
            ask()


def test_suggestions_are_made_when_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def close(word: str, *_: object, **__: object) -> list[str]:
        compared.append(word)
        return ["apple"]

    monkeypatch.setattr("difflib.get_close_matches", close)
    error = UnknownNameError("fruit", "aple", (name for name in ("apple", "pear")))
    assert compared == []
    assert "did you mean 'apple'" in str(error)
    assert compared == ["aple"]
