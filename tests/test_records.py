"""Files of results: nothing finished is lost, and what is resumed ends as if never stopped.

The file itself is tested in tests/test_store.py.
"""

from __future__ import annotations

import contextlib
import json
import signal

import numpy as np
import pytest

from hearts_agents import champion as champions
from hearts_agents.models.network import snapshot
from hearts_agents.search import PimcBelief
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules, __version__
from hearts_env.encoders import make_encoder
from hearts_env.support.interrupts import Interrupted, interruptible
from hearts_env.support.progress import silent
from hearts_train import store
from hearts_train.measure.contenders import Contender
from hearts_train.measure.contest import Contest, read_saved
from hearts_train.measure.duel import Block
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.match_duel import MatchBlock
from hearts_train.measure.tournament import tournament
from tests.refusals import mistake, refused
from tests.test_cli import command, run
from tests.tournament_kills import timeless
from tests.waiting import HANG

ARGUMENTS = ("standard", "easy", "micro", 70, 5)
BLOCKS = {"deal": [16, 32, 22], "match": [32, 32, 6]}
CODE = "class Mine:\n    def act(self, view):\n        return view.legal_actions()[{}]\n"


class First:
    """An agent that a program made."""

    def act(self, view):
        return view.legal_actions()[0]


@pytest.fixture
def played(monkeypatch):
    """The sizes of the blocks that are really played."""
    sizes = []
    play = Contest.play

    def counted(self, task):
        sizes.append(task.deals)
        return play(self, task)

    monkeypatch.setattr(Contest, "play", counted)
    return sizes


def shown(tell):
    """Shows progress by calling `tell`."""
    return lambda _: contextlib.nullcontext(tell)


def stop_after(deals):
    """Shows progress, and is stopped as soon as more than `deals` deals are played."""

    def tell(done, _):
        if done > deals:
            signal.raise_signal(signal.SIGTERM)

    return shown(tell)


# ---- resumed -------------------------------------------------------------------------------------
@pytest.mark.parametrize("unit", BLOCKS)
def test_a_resumed_file_plays_only_what_is_missing(tmp_path, played, unit):
    def entries(data):
        return sorted(timeless(json.loads(line))["entry"].items() for line in data.splitlines()[1:])

    first, second, third = BLOCKS[unit]
    whole = evaluate(*ARGUMENTS, unit=unit, save=tmp_path / "whole")
    assert played == BLOCKS[unit]
    head, *lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    strange = [{"pairing": [0, 1], "block": {"first": first, "deals": second}}, {"pairing": 3}]
    for kept, missing in (
        (lines, []),
        ([lines[0], lines[1][:37]], [second, third]),
        ([], [first, second, third]),
        ([lines[2], lines[0]], [second]),
        ([lines[0], lines[1].replace(b"[", b"[1,", 1), lines[2]], [second]),
        ([*map(store.sealed, strange), lines[0], lines[2]], [second]),
    ):
        file = tmp_path / "cut"
        file.write_bytes(b"".join([head, *kept]))
        played.clear()
        again = evaluate(*ARGUMENTS, unit=unit, resume=file)
        assert played == missing
        assert timeless(again.to_json()) == timeless(whole.to_json())
        if not missing:  # also the times, which are in the file
            assert again.to_json() == whole.to_json()
        played.clear()
        evaluate(*ARGUMENTS, unit=unit, resume=file)
        assert played == []


@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        (Block, {"deals": -1}),
        (Block, {"deals": 0}),
        (Block, {"seconds": ["9" * 400, 0]}),
        (Block, {"took": float("nan")}),
        (MatchBlock, {"deals": -1}),
        (MatchBlock, {"won": [1.0]}),
        (MatchBlock, {"ahead": [float("inf"), 0.0]}),
        (MatchBlock, {"took": "long"}),
    ],
)
def test_a_block_that_nobody_played_is_refused(block, wrong):
    if block is Block:
        made = Block(0, 1, *(np.zeros((2, 2), np.int64),) * 2, np.zeros(2, np.int64))
    else:
        made = MatchBlock(0, 1, *(np.zeros((1, 2)),) * 3)
    record = json.loads(json.dumps(made.to_json()))
    assert block.of(record, 2).to_json() == record
    with pytest.raises(ValueError):  # noqa: PT011 (NumPy's own, some of them)
        block.of(record | wrong, 2)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"agent": "pro"}, "agents"),
        ({"agent": "standard?worlds=3"}, "agent"),
        ({"opponents": ["easy", "random"]}, "agents"),
        ({"rules": "mini"}, "rules"),
        ({"deals": 3}, "about"),
        ({"seed": 6}, "seed"),
        ({"isolate": True}, "isolate"),
        ({"unit": "match"}, "unit"),
        ({"unit": "match", "totals": (3, 0)}, "unit"),
    ],
)
def test_a_file_of_other_settings_is_refused(tmp_path, change, word):
    pass
