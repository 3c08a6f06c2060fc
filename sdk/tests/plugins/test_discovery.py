# SPDX-License-Identifier: Apache-2.0
"""Finding plugins: which are there, which are chosen, and that nobody looks before it is needed."""

from __future__ import annotations

import re
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import (
    NoRouteError,
    PluginLoadError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_CONTEXT = """
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="{0}", context="{0}_classes:Here")]
"""
_CLASSES = """
from samebytes import CpuTensor, MemoryMapper
from samebytes.plugins import HostContext

class Here(HostContext):
    memory_type = node = "{0}"
    tensor_class = CpuTensor

    @classmethod
    def create(cls, device, parent):
        return HERE

HERE = Here()

class FromCpu(MemoryMapper):
    __slots__ = ()

    def connect(self, item, access):
        return item.native, None, None
"""
_EDGE = """
@hookimpl
def samebytes_mappers():
    return [
        MapperSpec(
            source="cpu", target="{0}", mapper="{0}_classes:FromCpu",
            transfer=Transfer.ALIAS, summary="the array", requires={1},
        )
    ]
"""


def install(site: Site, name: str, requires: tuple[str, ...] = (), version: str = "1.5") -> None:
    """A plugin that works: its own memory type, and an edge to it."""
    site.module(f"{name}_classes", _CLASSES.format(name))
    site.plugin(name, _CONTEXT.format(name) + _EDGE.format(name, requires), version=version)


def state(name: str) -> str:
    return next(p.state for p in sb.installed_plugins() if p.name == name)


def error(name: str) -> str:
    return next(p.error for p in sb.installed_plugins() if p.name == name)


def test_a_plugin_is_found_and_used(site: Site) -> None:
    install(site, "alpha")
    array = np.arange(6)
    mapped = sb.tensor(array).map("alpha", "rw")
    assert mapped.memory_type == "alpha"
    mapped.native[0] = 77
    assert array[0] == 77
    found = next(p for p in sb.installed_plugins() if p.name == "alpha")
    assert (found.distribution, found.version, found.state) == ("alpha-dist", "1.5", "ready")
    assert (found.summary, found.error, found.memory_types) == ("made up", "", ("alpha",))
    assert [edge.name for edge in found.edges] == ["cpu -> alpha"]
    assert found.unmet == ()


def test_cpu_is_listed_like_any_other(site: Site) -> None:
    assert site.path.is_dir()
    cpu = next(p for p in sb.installed_plugins() if p.name == "cpu")
    assert (cpu.distribution, cpu.version, cpu.state) == ("samebytes", sb.__version__, "ready")


def test_discovery_happens_once(site: Site) -> None:
    site.plugin("alpha", "import made_up_counter\nmade_up_counter.loads += 1\n")
    site.module("made_up_counter", "loads = 0\n")
    sb.installed_plugins()
    sb.context("cpu")
    import made_up_counter  # type: ignore[import-not-found]  # written by this test

    assert made_up_counter.loads == 1


def test_threads_share_one_discovery(site: Site) -> None:
    install(site, "alpha")
    seen: list[object] = []
    barrier = threading.Barrier(4, timeout=60)

    def look() -> None:
        barrier.wait()
        seen.append(sb.context("alpha"))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len({id(context) for context in seen}) == 1


def test_two_hundred_distributions(site: Site) -> None:
    for number in range(200):
        site.distribution(f"other{number}", "[console_scripts]\nmade-up = made_up:main\n")
    for number in range(5):
        install(site, f"alpha{number}")
    names = [p.name for p in sb.installed_plugins() if p.state == "ready"]
    assert [name for name in names if name.startswith("alpha")] == [f"alpha{n}" for n in range(5)]


def test_refresh_finds_what_was_added_and_forgets_routes(site: Site) -> None:
    tensor = sb.tensor(np.zeros(4))
    install(site, "alpha")
    tensor.map("alpha")
    install(site, "beta")
    with pytest.raises(NoRouteError):
        sb.route("alpha", "beta")
    tensor.map("beta")
    # An upgrade that no longer maps: the routes of the living tensor must not outlive it.
    (site.path / "beta_dist-1.5.dist-info" / "entry_points.txt").write_text("")
    sb.refresh()
    with pytest.raises(UnknownNameError, match="beta"):
        tensor.map("beta")
    tensor.map("alpha")


def test_before_refresh_nothing_changes(site: Site) -> None:
    sb.installed_plugins()
    site.module("late_plugin", "raise RuntimeError\n")
    site.distribution("late-dist", "[samebytes.plugins]\nlate = late_plugin\n")
    assert "late" not in [p.name for p in sb.installed_plugins()]
    sb.refresh()
    assert state("late") == "set aside"


def test_refreshed_while_plugins_are_found(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """Whoever asks is answered however often another thread refreshes, and nobody else by that."""
    install(site, "alpha")
    asked = 0

    class Hook:
        """Is asked for distributions whenever plugins are found."""

        def find_distributions(self, _: object) -> tuple[()]:
            nonlocal asked
            asked += 1
            assert asked < 10, "finding plugins never ends"
            sb.refresh()
            return ()

    sb.refresh()
    monkeypatch.setattr("sys.meta_path", [*sys.meta_path, Hook()])
    assert "alpha" in [p.name for p in sb.installed_plugins()]
    assert asked == 1
    install(site, "beta")
    assert "beta" in [p.name for p in sb.installed_plugins()]


@pytest.mark.parametrize(
    ("chosen", "disabled", "ready"),
    [
        (None, None, {"alpha", "beta"}),
        ("alpha", None, {"alpha"}),
        (" alpha , beta,, ", None, {"alpha", "beta"}),
        ("", None, set()),
        (None, "beta", {"alpha"}),
        (None, "", {"alpha", "beta"}),
        (None, "cpu,nobody", {"alpha", "beta"}),
        ("alpha,beta", "alpha", {"beta"}),
        ("cpu", None, set()),
    ],
)
def test_choosing(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    chosen: str | None,
    disabled: str | None,
    ready: set[str],
) -> None:
    for name in ("alpha", "beta"):
        install(site, name)
    for variable, value in (("SAMEBYTES_PLUGINS", chosen), ("SAMEBYTES_DISABLE", disabled)):
        if value is not None:
            monkeypatch.setenv(variable, value)
    sb.refresh()
    states = {p.name: p.state for p in sb.installed_plugins()}
    assert states["cpu"] == "ready"
    assert {name for name in ("alpha", "beta") if states[name] == "ready"} == ready
    assert {name for name in ("alpha", "beta") if states[name] == "disabled"} == (
        {"alpha", "beta"} - ready
    )


def test_a_disabled_plugin_is_not_imported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_DISABLE", "alpha")
    site.plugin("alpha", "raise RuntimeError\n")
    assert (state("alpha"), error("alpha")) == ("disabled", "")
    with pytest.raises(UnknownNameError, match="disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DIS"):
        sb.context("alpha")


def test_a_chosen_plugin_that_is_missing_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "alhpa")
    install(site, "alpha")
    assert "did you mean 'alpha'" in error("alhpa")
    monkeypatch.setenv("SAMEBYTES_STRICT", "1")
    sb.refresh()
    with pytest.raises(PluginLoadError, match="alhpa"):
        sb.context("cpu")


def test_strict_raises_for_the_first_broken_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.plugin("broken", "raise RuntimeError('no')\n")
    monkeypatch.setenv("SAMEBYTES_STRICT", "1")
    sb.refresh()
    with pytest.raises(PluginLoadError, match="no") as caught:
        sb.context("cpu")
    assert caught.value.plugin == "broken"
    # Whoever lists them wants to see them all.
    assert state("broken") == "set aside"
    monkeypatch.delenv("SAMEBYTES_STRICT")
    sb.refresh()
    assert sb.context("cpu").memory_type == "cpu"


def test_two_plugins_of_one_name(site: Site) -> None:
    install(site, "alpha")
    site.module("other_plugin", (site.path / "alpha_plugin.py").read_text())
    site.distribution("other-dist", "[samebytes.plugins]\nalpha = other_plugin\n")
    sb.refresh()
    first, second = (p for p in sb.installed_plugins() if p.name == "alpha")
    assert (first.distribution, first.state) == ("alpha-dist", "ready")
    assert (second.distribution, second.state) == ("other-dist", "set aside")
    assert "other-dist has the same name as a plugin of alpha-dist" in second.error
    assert (second.memory_types, second.edges) == ((), ())


def test_nobody_can_be_cpu(site: Site) -> None:
    site.plugin("cpu")
    second = sb.installed_plugins()[1]
    assert (second.name, second.state) == ("cpu", "set aside")
    sb.tensor(np.zeros(3)).map("cpu")


def test_a_distribution_found_twice_counts_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "alpha")
    monkeypatch.syspath_prepend(str(site.path / "." / ""))
    monkeypatch.syspath_prepend(f"{site.path}/../{site.path.name}")
    sb.refresh()
    assert [p.state for p in sb.installed_plugins() if p.name == "alpha"] == ["ready"]


@pytest.mark.parametrize("kind", ["native", "node"])
def test_a_name_that_another_plugin_holds(site: Site, kind: str) -> None:
    install(site, "alpha")
    site.plugin(
        "beta",
        _CONTEXT.format("alpha" if kind == "node" else "beta")
        + f"""
@hookimpl
def samebytes_tensors():
    native = "numpy.ndarray" if {kind!r} == "native" else "made.Up"
    return [NativeSpec(native=native, wraps="beta_classes:Tensor", level="tensor")]
""",
    )
    assert state("alpha") == "ready"
    assert state("beta") == "set aside"
    held = "native type 'numpy.ndarray' that plugin 'cpu' holds"
    if kind == "node":
        held = "context 'alpha' that plugin 'alpha' holds"
    assert held in error("beta")
    # All of a plugin is entered, or nothing.
    with pytest.raises(UnknownNameError, match="plugin 'beta' was set aside"):
        sb.context("beta")


def test_a_name_declared_twice(site: Site) -> None:
    site.plugin("alpha", _CONTEXT.format("alpha").replace("]", "] * 2"))
    assert "declares the context 'alpha' twice" in error("alpha")


def test_unmet_requirements(site: Site) -> None:
    install(site, "alpha", ("beta>=2",))
    install(site, "beta", ("nobody",))
    install(site, "gamma", ("openvino>=99", "alpha>=1,<2"))
    plugins = {p.name: p for p in sb.installed_plugins()}
    assert plugins["alpha"].edges == ()
    ((edge, reason),) = plugins["alpha"].unmet
    assert edge.name == "cpu -> alpha"
    assert reason == "it needs beta>=2, and beta-dist 1.5 is here"
    assert plugins["beta"].unmet[0][1] == "it needs plugin 'nobody', which is not installed"
    assert "openvino" in plugins["gamma"].unmet[0][1]
    with pytest.raises(NoRouteError, match=r"beta-dist 1\.5 is here"):
        sb.tensor(np.zeros(3)).map("alpha")


def test_met_requirements(site: Site) -> None:
    install(site, "alpha", ("beta>=2,<3", "cpu"))
    install(site, "beta", version="2.7.1")
    sb.tensor(np.zeros(3)).map("alpha")


def test_a_required_plugin_that_was_set_aside_says_why(site: Site) -> None:
    install(site, "alpha", ("beta",))
    site.plugin("beta", "raise RuntimeError('broken today')\n")
    with pytest.raises(NoRouteError, match=r"was set aside: plugin 'beta': .*broken today"):
        sb.tensor(np.zeros(3)).map("alpha")


def test_a_plugin_of_this_project_that_is_missing_says_how_to_get_it(site: Site) -> None:
    install(site, "alpha", ("ffmpeg",))
    code = """
import samebytes.elements as el
for call in (lambda: sb.tensor(numpy.zeros(3)).map("alpha"), lambda: sb.context("openvino:GPU"),
             lambda: el.create("ring.sink", "@nowhere")):
    try:
        call()
    except sb.SamebytesError as error:
        print(type(error).__name__, " ".join(str(error).split()))
"""
    said = site.python_alone(code, "ffmpeg", "ipc", "openvino").splitlines()
    expected = (("NoRouteError", "ffmpeg"), ("UnknownNameError", "openvino"),
                ("UnknownNameError", "ipc"))  # fmt: skip
    assert len(said) == len(expected)
    for text, (kind, extra) in zip(said, expected, strict=True):
        assert text.startswith(kind)
        assert re.search(rf'pip install [^"]*"samebytes\[{extra}\]"', text)


def test_importing_imports_no_machinery(site: Site) -> None:
    site.plugin("alpha", "raise SystemExit('imported')\n")
    watched = ("pluggy", "importlib_metadata", "importlib.metadata", "av", "cv2", "openvino",
               "torch", "rich", "subprocess", "mmap", "samebytes._core.owner.handle_keys",
               "samebytes._plugins.discovery", "samebytes._plugins.specs",
               "samebytes._routing.contexts", "samebytes.formats._audio")  # fmt: skip
    code = f"""
import sys
import numpy as np
before = set(sys.modules)
import samebytes as sb
tensor = sb.tensor(np.zeros((4, 6), "u1"))
tensor.map("cpu").close()
tensor.map("cpu", "rw").close()
frame = sb.frame(np.zeros((4, 6, 3), "u1"), format="BGR")
frame.map("cpu").planes
frame.map("cpu", "rw").planes[0].native[...] = 1
assert frame.planes[0].native.all()
print([name for name in {watched!r} if name in sys.modules and name not in before])
sb.context("cpu")
print("pluggy" in sys.modules)
"""
    done = site.python("-c", code)
    assert done.stdout.splitlines() == ["[]", "True"], done.stderr


def test_discovery_imports_no_framework(site: Site) -> None:
    code = """
import sys
import samebytes as sb
sb.installed_plugins()
frameworks = "av", "cv2", "openvino", "torch", "pyopencl", "gi", "dpctl"
print([name for name in frameworks if name in sys.modules])
"""
    assert site.python("-c", code).stdout == "[]\n"
