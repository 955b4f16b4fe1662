"""The README's Python runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hearts_env import __version__
from tests.pages import run_if_changed

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize(
    "number",
    [  # those that train with stable-baselines3 are dear
        pytest.param(number, marks=[pytest.mark.slow] if "sb3" in block else ())
        for number, block in enumerate(BLOCKS)
    ],
)
def test_a_block_runs(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile(BLOCKS[number], f"README.md, Python block {number + 1}", "exec")
    run_if_changed(request, BLOCKS[number], lambda: exec(code, {}))


def test_what_is_cited_is_this_version() -> None:
    citation = (README.parent / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): +(.+)$", citation, re.M))
    assert fields["version"] == __version__
    year = fields["date-released"][:4]
    bibtex = re.search(r"^```bibtex\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert bibtex is not None
    assert f"version = {{{__version__}}}" in bibtex[1]
    assert f"year    = {{{year}}}" in bibtex[1]
    assert fields["title"].strip('"') in bibtex[1]
