# SPDX-License-Identifier: Apache-2.0
"""The check of what the pages tell a reader to install."""

import pytest

from devtools.installs import of_page, unknown

FENCED = "Text.\n\n```sh\napt install x\npip install {}\n```\n"


@pytest.mark.parametrize(
    "asked",
    ['"samebytes[dma]"', "samebytes-dma", "./sdk samebytes-dma", "./sdk \\\n  samebytes-dma"],
)
def test_pages_do_not_install_what_is_not_on_pypi(asked: str) -> None:
    ((line, said),) = of_page("docs/how-to/a.md", FENCED.format(asked), published=False)
    assert line == 5
    assert said.startswith("samebytes")
    assert "is not on PyPI" in said
    assert of_page("docs/how-to/a.md", FENCED.format(asked), published=True) == []
    # PyPI shows this page with the package.
    assert of_page("backends/dma/README.md", FENCED.format(asked), published=False) == []


def test_a_sentence_may_not_install_it_either() -> None:
    text = "You need Linux, and `pip install samebytes-dma` there.\n"
    assert [line for line, _ in of_page("docs/a.md", text, published=False)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        FENCED.format('./sdk "./backends/opencv[headless]"   # on every node of samebytes'),
        FENCED.format("$S/sdk $S/backends/ffmpeg"),
        FENCED.format("samebytes-softdevices --find-links dist"),
        FENCED.format("numpy"),
        '```text\nffmpeg is missing: pip install "samebytes[ffmpeg]"\n```\n',
    ],
)
def test_lines_that_are_right(text: str) -> None:
    assert of_page("docs/how-to/a.md", text, published=False) == []


def test_what_does_not_exist() -> None:
    line = 'pip install "samebytes[a,b]" samebytes-x[c] samebytes-y'
    known = {"samebytes": {"a"}, "samebytes-x": {"c"}, "samebytes-y": set()}
    assert unknown(line, known) == ["samebytes[b]"]
    assert unknown(line, {**known, "samebytes-x": set()}) == ["samebytes[b]", "samebytes-x[c]"]
    assert unknown("samebytes-z", known) == ["samebytes-z"]
    line = './sdk "$S/backends/x[a,b]" ./y'
    assert unknown(line, {"sdk": set(), "backends/x": {"a"}}) == ["backends/x[b]", "y"]
