"""Files of results: nothing finished is lost, and resumed work ends as if never stopped.

The file itself is tested in tests/test_store.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from hearts_agents import champion as champions
from hearts_agents.search import PimcBelief
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, __version__
from hearts_env.support.interrupts import Interrupted, interruptible
from hearts_train import store
from hearts_train.measure.contest import Contest, read_saved
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.exploit import BEST
from hearts_train.measure.participants import Participant
from hearts_train.measure.tournament import tournament
from tests.players import CODE, Lowest, network_player
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run
from tests.waiting import timeless

ARGUMENTS = ("standard", "easy", "micro", 70, 5)
COMMANDS = [
    ("evaluate", "easy", "--opponents", "standard", "--rules", "micro", "--deals", 2),
    ("compare", "easy", "standard", "--rules", "micro", "--deals", 64),
    ("tournament", "easy", "standard", "--rules", "micro", "--deals", 2),
    ("exploit", "easy", "--attackers", "standard", "--rules", "two_player", "--deals", 2),
]
BLOCKS = {"deal": [16, 32, 22], "match": [32, 32, 6]}


@pytest.fixture
def played(monkeypatch):
    """The sizes of the blocks that are played, not read."""
    sizes = []
    play = Contest.play

    def counted(self, task):
        sizes.append(task.deals)
        return play(self, task)

    monkeypatch.setattr(Contest, "play", counted)
    return sizes


def stop_after(deals):
    """Return a progress display that stops the run after more than `deals` deals."""

    def tell(done, _):
        if done > deals:
            signal.raise_signal(signal.SIGTERM)

    return lambda _: contextlib.nullcontext(tell)


# ---- resumed -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("decisions", value) for value in ([10**400, 0], [-1, 0], [1, 2, 3], ["1", 0], 5)),
        *(("seconds", value) for value in ([10**400, 0.0], [-1.0, 0.0])),
        *(("scores", value) for value in ([10**18] * 64, [0.5] * 64, [None] * 64)),
        *(("shooters", value) for value in ([2] * 32, [-2] * 32)),
        ("examples", [dict.fromkeys(("agent", "role", "kind", "text", "seed", "seat", "view"), 5)]),
        ("worst", [{"number": 99, "seed": 1, "lost": 1, "games": []}]),
        ("faults", [10**400, 0]),
        ("first", None),
    ],
)
def test_block_with_odd_values_is_played_again(tmp_path, played, name, value):
    file = tmp_path / "saved"
    whole = evaluate(*ARGUMENTS, save=file)
    head, first, *rest = file.read_bytes().splitlines(keepends=True)
    entry = store.unsealed(first[:-1])
    entry["block"][name] = value
    file.write_bytes(b"".join([head, store.sealed(entry), *rest]))
    played.clear()
    again = evaluate(*ARGUMENTS, resume=file)
    assert played == [BLOCKS["deal"][0]]
    assert timeless(again.to_json()) == timeless(whole.to_json())


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("evaluate easy --opponents pro --deals 2 --rules micro", "about", []),
        ("evaluate easy --opponents pro --deals 2 --rules micro", "agents", [{}]),
        ("evaluate easy --opponents pro --deals 2 --rules micro", "rules_in_full", {"players": []}),
        ("compare easy pro --deals 64 --rules micro", "about", []),
        ("compare easy pro --deals 64 --rules micro", "work", []),
        ("compare easy pro --deals 64 --rules micro", "about.question", {"low": "x"}),
        ("tournament easy pro --deals 2 --rules micro", "about.deals", 10**400),
        ("benchmark easy --deals 2 --track micro", "about", []),
        ("benchmark easy --deals 2 --track micro", "seed", "x"),
        (f"exploit easy --attackers {BEST} --deals 2 --rules micro", "about.made_from", 5),
    ],
)
def test_odd_setting_of_saved_work_is_named(words, field, value, tmp_path):
    file = tmp_path / "saved"
    assert run(*words.split(), "--save", file).exit_code == 0
    head, *rest = file.read_bytes().splitlines(keepends=True)
    entry = inner = store.unsealed(head[:-1])
    for name in ("settings", *field.split("."))[:-1]:
        inner = inner[name]
    inner[field.rpartition(".")[2]] = value
    file.write_bytes(b"".join([store.sealed(entry), *rest]))
    mistake(run(words.split()[0], "--resume", file), "resume", file, field.partition("_")[0])


def test_unwritable_saved_work_is_refused_before_play(tmp_path, played, monkeypatch):
    file = tmp_path / "saved"
    evaluate(*ARGUMENTS, save=file)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    played.clear()
    with pytest.raises(PermissionError) as caught:
        evaluate(*ARGUMENTS, resume=file)
    assert caught.value.filename == str(file)
    assert not played


@pytest.mark.parametrize("unit", BLOCKS)
def test_resumed_file_plays_only_missing_blocks(tmp_path, played, unit):
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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Results of both units."""
    folder = tmp_path_factory.mktemp("files")
    evaluate("standard", "easy", "micro", 2, 5, save=folder / "deal")
    evaluate("standard", "easy", "micro", 2, 5, unit="match", save=folder / "match")
    return folder


@pytest.mark.parametrize(
    ("unit", "change", "word"),
    [
        ("deal", {"agent": "pro"}, "name"),
        ("deal", {"opponents": "random"}, "name"),
        ("deal", {"opponents": ["easy", "random"]}, "agents"),
        ("deal", {"rules": "mini"}, "rules of"),
        ("deal", {"deals": 3}, "deals of"),
        ("deal", {"seed": 6}, "seed of"),
        ("deal", {"isolate": True}, "isolate of"),
        ("match", {"deals": 3}, "deals of"),
        ("match", {"unit": "deal"}, "unit of"),
    ],
)
def test_file_with_other_settings_is_refused(files, unit, change, word):
    settings = {"agent": "standard", "opponents": "easy", "rules": "micro", "deals": 2, "seed": 5}
    if unit == "match":
        settings |= {"unit": unit}
    evaluate(**settings, resume=files / unit)
    with raises_hearts_error(HeartsError, "resume", word):
        evaluate(**settings | change, resume=files / unit)


def test_file_of_other_command_or_version_is_refused(files, monkeypatch):
    with raises_hearts_error(HeartsError, "resume", "work"):
        tournament(["standard", "easy"], "micro", 2, 5, resume=files / "deal")
    monkeypatch.setattr(store, "__version__", "99.0")
    for resume in (
        lambda: evaluate("standard", "easy", "micro", 2, 5, resume=files / "deal"),
        lambda: read_saved(files / "deal"),
    ):
        with raises_hearts_error(HeartsError, "resume", "99.0", __version__):
            resume()


@pytest.mark.parametrize("words", COMMANDS)
def test_agents_added_to_a_saved_file_run_no_code(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*words, "--save", "saved").exit_code == 0
    Path("evil.py").write_text("open('ran', 'w')\n" + CODE.format(0))
    first, *lines = Path("saved").read_bytes().split(b"\n")
    for name in ("agent", "opponents", "other", "agents", "attackers"):
        header = store.unsealed(first)
        header["settings"]["about"][name] = ["evil.py:Mine"]
        Path("saved").write_bytes(store.sealed(header) + b"\n".join(lines))
        mistake(run(words[0], "--resume", "saved"), "resume", name)
    assert not Path("ran").exists()


@pytest.mark.parametrize("unit", BLOCKS)
def test_agents_in_code_and_objects_resume(tmp_path, unit):
    code, file, other = (tmp_path / name for name in ("mine.py", "code", "program"))
    code.write_text(CODE.format(0))
    arguments = (f"{code}:Mine", "easy", "micro", 4)
    whole = evaluate(*arguments, unit=unit, save=file)
    mistake(run("evaluate", "--resume", file), "resume", "--allow-code")
    assert json.loads(run("evaluate", "--resume", file, "--allow-code", "--json").stdout)
    code.write_text(CODE.format(-1))
    with raises_hearts_error(HeartsError, "resume", "digest"):
        evaluate(*arguments, unit=unit, resume=file)
    mistake(run("evaluate", "--resume", file, "--allow-code"), "resume", "digest")
    evaluate(Lowest(), *arguments[1:], unit=unit, save=other)
    again = evaluate(Lowest(), *arguments[1:], unit=unit, resume=other)
    assert getattr(again, "ahead", again.won) == getattr(whole, "ahead", whole.won)
    mistake(run("evaluate", "--resume", other), "resume", "program")


def digest(agent):
    return Participant(agent, 0).digest


def test_digest_covers_code_weights_and_options(tmp_path, monkeypatch):
    code, weights = tmp_path / "mine.py", tmp_path / "weights.bin"
    text = CODE.format(0) + "    def __init__(self, weights='', seed=None):\n        pass\n"
    code.write_text(text)
    weights.write_bytes(b"1")
    specs = (f"{code}:Mine?weights={weights}", f"pimc_belief?model={code}:Mine")
    before = [digest(spec) for spec in specs]
    assert [AgentSpec.parse(spec).digest() for spec in specs] == before  # not made here
    weights.write_bytes(b"2")
    code.write_text(text + "# changed\n")
    after = [digest(spec) for spec in specs]
    assert before[0] != digest(f"{code}:Mine") != after[0] != before[0]
    assert None not in before
    assert before[1] != after[1]
    zero, same, one = (network_player("micro", seed) for seed in (0, 0, 1))
    assert None is not digest(zero) == digest(same) != digest(one)
    assert digest(PimcBelief(model=zero)) != digest(PimcBelief(model=one))
    solved, champion = digest("equilibrium"), digest("champion")
    others = digest("champion?small=true"), digest("champion?search=8")
    monkeypatch.setattr("hearts_agents.models.solved.shipped_file", lambda name: weights)
    monkeypatch.setattr(champions, "weights_of", lambda name, kind: weights)
    assert len({None, solved, digest("equilibrium")}) == 3
    assert len({None, champion, *others, digest("champion")}) == 5
    assert digest("pro") is None


# ---- stopped and killed --------------------------------------------------------------------------
@pytest.mark.parametrize("unit", BLOCKS)
def test_stopped_evaluation_keeps_blocks_and_resumes(tmp_path, played, unit):
    file, kept = tmp_path / "results.jsonl", sum(BLOCKS[unit][:2])
    with interruptible():
        stopped = evaluate(*ARGUMENTS, unit=unit, show=stop_after(kept), save=file)
    assert stopped.interrupted
    assert stopped.to_json()["pairs" if unit == "match" else "deals"] == kept
    played.clear()
    whole = evaluate(*ARGUMENTS, unit=unit, resume=file)
    assert played == BLOCKS[unit][2:]
    assert timeless(whole.to_json()) == timeless(evaluate(*ARGUMENTS, unit=unit).to_json())
    with pytest.raises(Interrupted), interruptible():  # before anything stands
        evaluate(*ARGUMENTS, unit=unit, show=stop_after(-1))


@pytest.mark.slow
@pytest.mark.parametrize("unit", BLOCKS)
def test_resume_takes_everything_from_the_file(tmp_path, unit):
    file = tmp_path / "results.jsonl"
    words = ("evaluate", "standard", "--opponents", "easy,random", "--deals", 40, "--rules", "mini")
    words = (*words, "--unit", unit)
    whole = json.loads(run(*words, "--seed", 3, "--save", file, "--json").stdout)
    resumed = json.loads(run("evaluate", "--resume", file, "--json").stdout)
    assert timeless(resumed) == timeless(whole)
    for more in (("--deals", 50), ("--unit", "match")):
        mistake(run("evaluate", "--resume", file, *more), more[0], "--resume")
    mistake(run("evaluate", "pro", "--resume", file), "agent", "--resume")
    mistake(run("tournament", "--resume", file), "resume", "--resume")
    mistake(run("evaluate", "--resume", tmp_path / "nothing"), str(tmp_path / "nothing"))
    mistake(run("evaluate"), "agent")
    if unit == "match":
        mistake(run("evaluate", "--resume", file, "--plot", "x.png"), "--plot")
