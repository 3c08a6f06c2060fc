# SPDX-License-Identifier: Apache-2.0
"""The registry of contexts: one for each key, whoever asks, and no longer than it can be used."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from samebytes import Context, Device
from samebytes.plugins import ContextRegistry, HostContext, intern


class Chip(Context):
    """A context over a handle, which counts how often one was closed."""

    memory_type = node = "registered"
    closings = 0

    def __init__(self, handle: int = 1, parent: Context | None = None) -> None:
        super().__init__(Device("CHIP"), handles={"cl_context": handle}, parent=parent)

    def _on_close(self) -> None:
        type(self).closings += 1


class Engine:
    """An object that a plugin makes for several contexts."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


Contexts = ContextRegistry[Chip]


@pytest.fixture
def contexts() -> Contexts:
    return ContextRegistry()


def never() -> Any:
    raise AssertionError("there is a living one")


def test_the_living_one_is_found(contexts: Contexts) -> None:
    made = contexts.find_or_make("key", Chip)
    assert contexts.find("key") is made
    assert contexts.find_or_make("key", never) is made
    assert contexts.all() == [made]
    assert contexts.find("other") is None


def test_it_is_kept_by_its_holders_alone(contexts: Contexts) -> None:
    made = weakref.ref(contexts.find_or_make("key", Chip))
    assert made() is None
    assert contexts.find("key") is None
    assert not contexts._entries, "the keys of what is gone go, too"


def test_a_closed_one_is_not_found(contexts: Contexts) -> None:
    made = contexts.find_or_make("key", Chip)
    made.close()
    assert contexts.find("key") is None
    assert contexts.all() == []
    again = contexts.find_or_make("key", Chip)
    assert again is not made
    del made
    assert contexts.find("key") is again


def test_one_derived_from_a_closed_one_is_not_found(contexts: Contexts) -> None:
    parent = Chip(2)
    made = contexts.find_or_make("key", partial(Chip, 3, parent))
    assert contexts.find("key") is made
    parent.close()
    assert contexts.find("key") is None


def test_what_is_made_is_the_one_of_its_handles(contexts: Contexts) -> None:
    """Two keys may mean the same native context: there is one object for it."""
    living = intern(Chip(4))
    Chip.closings = 0
    assert contexts.find_or_make("by name", partial(Chip, 4)) is living
    assert contexts.find_or_make("by number", partial(Chip, 4)) is living
    assert not living.closed
    assert Chip.closings == 2, "those that were made for nothing"


def test_what_is_not_a_context_is_held_too() -> None:
    engines: ContextRegistry[Engine] = ContextRegistry()
    made = engines.find_or_make(1, Engine)
    assert engines.find_or_make(1, never) is made
    made.close()
    assert engines.find(1) is None


def test_an_error_leaves_nothing_behind(contexts: Contexts) -> None:
    def fail() -> Chip:
        raise MemoryError

    with pytest.raises(MemoryError):
        contexts.find_or_make("key", fail)
    assert contexts.find_or_make("key", Chip).node == "registered"


def test_making_holds_no_lock(contexts: Contexts) -> None:
    """Another thread may use the registry, for the same key as well, while one makes a context."""
    making, go_on = threading.Event(), threading.Event()

    def slowly() -> Chip:
        making.set()
        assert go_on.wait(10)
        return Chip(5)

    found: list[Chip] = []
    slow = threading.Thread(target=lambda: found.append(contexts.find_or_make("key", slowly)))
    slow.start()
    assert making.wait(10)
    Chip.closings = 0
    first = contexts.find_or_make("key", partial(Chip, 6))
    go_on.set()
    slow.join()
    assert found == [first]
    assert found[0] is first
    assert Chip.closings == 1, "the one that came second"


@pytest.mark.usefixtures("switching_often")
@pytest.mark.parametrize("closing", [False, True], ids=["dropping", "closing"])
def test_many_threads_get_the_same(contexts: Contexts, closing: bool) -> None:
    """Some of them close it or drop it meanwhile: nobody ever gets a closed one."""
    with ThreadPoolExecutor(6) as threads:
        for _ in range(50):
            Chip.closings = 0
            found: list[Chip] = []
            start = threading.Barrier(6)

            def work(number: int, found: list[Chip] = found, start: Any = start) -> None:
                start.wait(10)
                found.append(contexts.find_or_make("key", partial(Chip, 100 + number)))

            list(threads.map(work, range(6)))
            assert len(found) == 6
            assert len({id(context) for context in found}) == 1
            assert not found[0].closed
            if closing:
                found[0].close()


def test_a_finalizer_that_enters_one_at_any_point(contexts: Contexts) -> None:
    """The key has one context, whatever the finalizer interrupts."""

    class Finalized:
        """Looks the key up when the collector finds it."""

        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            held.append(contexts.find_or_make("key", Chip))

    held: list[Chip] = []
    threshold = gc.get_threshold()
    nested, rounds = 0, 100
    gc.collect()
    gc.freeze()  # else the collector looks at all that other tests left, thousands of times
    try:
        for number in range(rounds):
            gc.collect()
            held.clear()
            gc.set_threshold(1 + number % 25)
            Finalized()
            made = contexts.find_or_make("key", Chip)
            gc.set_threshold(*threshold)
            gc.collect()
            nested += len(held)
            assert all(context is made for context in held)
            assert contexts.find("key") is made
            if number % 2:
                made.close()
            del made
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
    assert nested == rounds


def test_a_context_of_host_memory_lives_as_long_as_the_process() -> None:
    class Host(HostContext):
        memory_type = node = "registered-host"

    number = id(intern(Host()))
    gc.collect()
    assert id(intern(Host())) == number


def test_entering_a_key_again_after_its_context_was_dropped_by_a_callback(
    contexts: Contexts,
) -> None:
    """The entry of a dead context is replaced, not removed, if it is asked for in between."""
    found: list[Chip] = []
    made = contexts.find_or_make("key", Chip)
    weakref_kept = weakref.ref(made, lambda _: found.append(contexts.find_or_make("key", Chip)))
    del made  # the callback above runs before that of the registry: the youngest first
    assert weakref_kept() is None
    assert contexts.find("key") is found[0]


def test_closed_is_public() -> None:
    context = Chip(8)
    before = context.closed
    context.close()
    assert (before, context.closed) == (False, True)


def test_what_lives_until_the_interpreter_has_ended(tmp_path: Path) -> None:
    """Its entry is removed when the names of samebytes' own modules are None."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from samebytes._core.edges import registry as module\n"
        "class Engine: closed = False\n"
        "made, registry = Engine(), module.ContextRegistry()\n"
        "registry.enter('key', made)\n"
        # Then both modules are emptied, this one after the other.
        "sys.kept = [sys.modules['__main__'], module]\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
