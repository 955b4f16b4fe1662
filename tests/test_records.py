"""Files of results: nothing finished is lost, and what is resumed ends as if never stopped."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from hearts_agents import champion as champions
from hearts_agents.models.network import snapshot
from hearts_agents.search import PimcBelief
from hearts_agents.spec import AgentSpec
from hearts_env import CheckpointError, HeartsError, Rules, __version__
from hearts_env.encoders import make_encoder
from hearts_env.support.files import held
from hearts_env.support.interrupts import Interrupted, interruptible
from hearts_env.support.progress import silent
from hearts_train.measure import evaluation, records
from hearts_train.measure.contenders import Contender
from hearts_train.measure.duel import Block
from hearts_train.measure.evaluation import Contest, evaluate
from hearts_train.measure.records import read_settings, results_file
from hearts_train.measure.tournament import tournament
from tests.refusals import mistake, refused
from tests.test_cli import command, run
from tests.waiting import HANG, timeless

PAIRS = 100  # blocks of 16, 32 and 52
ARGUMENTS = ("standard", "easy", "two_player", PAIRS, 5)
ENTERED = ["easy", "standard", "standard_trump"]


@pytest.fixture
def count_blocks(monkeypatch):
    """The sizes of the blocks that are really played."""
    played = []
    play = evaluation.Duel.play

    def counted(self, first, deals, progress=None):
        played.append(deals)
        return play(self, first, deals, progress)

    monkeypatch.setattr(evaluation.Duel, "play", counted)
    return played


def test_a_finished_file_gives_the_result_without_playing(tmp_path, count_blocks):
    file = tmp_path / "results.jsonl"
    played = evaluate(*ARGUMENTS, out=file)
    assert count_blocks == [16, 32, 52]
    again = evaluate(*ARGUMENTS, resume=file)
    assert count_blocks == [16, 32, 52]
    assert again.to_json() == played.to_json()  # also the times, which are in the file
    assert again.margins.tolist() == played.margins.tolist()


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_file_cut_anywhere_is_gone_on_with(tmp_path, count_blocks, kept):
    whole = evaluate(*ARGUMENTS, out=tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    file = tmp_path / "cut.jsonl"
    file.write_bytes(b"".join(lines[:kept]) + lines[kept][:37])  # in the middle of a line
    count_blocks.clear()
    resumed = evaluate(*ARGUMENTS, resume=file)
    assert count_blocks == [16, 32, 52][kept - 1 :]
    assert timeless(resumed.to_json()) == timeless(whole.to_json())
    assert len(file.read_bytes().splitlines()) == 4


def test_a_damaged_line_is_played_again(tmp_path, count_blocks):
    file = tmp_path / "results.jsonl"
    whole = evaluate(*ARGUMENTS, out=file)
    lines = file.read_bytes().splitlines(keepends=True)
    digit = lines[2].index(b'"scores":[') + len('"scores":[')
    lines[2] = lines[2][:digit] + bytes([lines[2][digit] ^ 1]) + lines[2][digit + 1 :]
    file.write_bytes(b"".join(lines))
    count_blocks.clear()
    resumed = evaluate(*ARGUMENTS, resume=file)
    assert count_blocks == [32]
    assert timeless(resumed.to_json()) == timeless(whole.to_json())


@pytest.mark.parametrize("wrong", [{"deals": -1}, {"deals": 0}, {"seconds": ["9" * 400, 0]}])
def test_a_block_that_nobody_played_is_refused(wrong):
    record = Block(0, 1, *(np.zeros((2, 2), np.int64),) * 2, np.zeros(2, np.int64)).to_json()
    assert Block.of(record, 2).deals == 1
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Block.of(record | wrong, 2)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("pro", *ARGUMENTS[1:]), "agents"),
        ((*ARGUMENTS[:2], "mini", PAIRS, 5), "rules"),
        ((*ARGUMENTS[:3], 101, 5), "deals"),
        ((*ARGUMENTS[:4], 6), "seed"),
        (("pro?worlds=3", *ARGUMENTS[1:]), "agents"),
    ],
)
def test_a_file_of_other_settings_is_refused(tmp_path, arguments, word):
    evaluate(*ARGUMENTS, out=tmp_path / "results.jsonl")
    with refused(HeartsError, "resume", word):
        evaluate(*arguments, resume=tmp_path / "results.jsonl")


def test_a_changed_agent_is_refused(tmp_path):
    code = tmp_path / "mine.py"
    body = "class Mine:\n    def act(self, view):\n        return view.legal_actions()[{}]\n"
    code.write_text(body.format(0))
    evaluate(f"{code}:Mine", "easy", deals=4, out=tmp_path / "results.jsonl")
    code.write_text(body.format(-1))
    with refused(HeartsError, "resume"):
        evaluate(f"{code}:Mine", "easy", deals=4, resume=tmp_path / "results.jsonl")


def digest(agent):
    return Contender(agent, 0).digest


def test_a_digest_changes_with_all_that_an_agent_is_made_of(tmp_path, monkeypatch):
    code, weights = tmp_path / "mine.py", tmp_path / "weights.bin"
    body = (
        "class Mine:\n    def __init__(self, weights='', seed=None):\n        pass\n"
        "    def act(self, view):\n        return view.legal_actions()[0]\n"
    )
    code.write_text(body)
    weights.write_bytes(b"1")
    specs = (f"{code}:Mine?weights={weights}", f"pimc_belief?model={code}:Mine")
    before = [digest(spec) for spec in specs]
    assert [AgentSpec.parse(spec).digest() for spec in specs] == before  # not made here
    weights.write_bytes(b"2")
    code.write_text(body + "# changed\n")
    after = [digest(spec) for spec in specs]
    assert before[0] != digest(f"{code}:Mine") != after[0] != before[0]
    assert None not in before
    assert before[1] != after[1]
    rules = Rules.preset("micro")
    size = int(np.prod(make_encoder("flat").space(rules).shape))
    models = [
        snapshot([(np.full((rules.num_actions, size), w), np.zeros(rules.num_actions))], rules)
        for w in (0.0, 1.0)
    ]
    one, two = (digest(PimcBelief(model=model)) for model in models)
    assert one != two
    solved = digest("equilibrium")
    monkeypatch.setattr("hearts_agents.models.solved.shipped_file", lambda name: weights)
    assert None not in (one, two, solved, digest("equilibrium"))
    assert digest("equilibrium") != solved
    champion, small = digest("champion"), digest("champion?small=true")
    searching = digest("champion?search=8")
    monkeypatch.setattr(champions, "weights_of", lambda name, kind: weights)
    assert len({None, champion, small, searching, digest("champion")}) == 5
    assert digest("pro") is None


def test_a_file_of_another_version_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "results.jsonl"
    evaluate("easy", "easy", deals=2, out=file)
    monkeypatch.setattr(records, "__version__", "99.0")
    for go_on in (
        lambda: evaluate("easy", "easy", deals=2, resume=file),
        lambda: read_settings(file),
    ):
        with refused(HeartsError, "resume", "99.0", __version__):
            go_on()


def test_files_that_cannot_be_used_are_refused(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text("mine\n")
    with refused(HeartsError, "out"):
        evaluate(*ARGUMENTS, out=file)
    with refused(HeartsError, "resume"):
        evaluate(*ARGUMENTS, resume=file)
    assert file.read_text() == "mine\n"
    with refused(HeartsError, "out"):
        evaluate(*ARGUMENTS, out=file, resume=file)
    with pytest.raises(OSError, match="nothing"):
        evaluate(*ARGUMENTS, resume=tmp_path / "nothing")
    assert not (tmp_path / ".nothing.lock").exists()
    with refused(HeartsError, "out"):
        evaluate(*ARGUMENTS, out=tmp_path / "nowhere" / "new")
    with held(tmp_path / ".new.lock", "test"), refused(CheckpointError, "results"):
        evaluate(*ARGUMENTS, out=tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with held(tmp_path / ".new.lock", "test"), refused(CheckpointError, "results"):
        evaluate(*ARGUMENTS, out=tmp_path / "link")


def test_each_agent_is_made_once(monkeypatch):
    made, make = [], AgentSpec.make
    monkeypatch.setattr(
        "hearts_agents.spec.AgentSpec.make",
        lambda spec, seed: made.append(spec.text) or make(spec, seed),
    )
    contest = Contest(["pro", "easy", "standard"], "two_player", 0)
    assert len(list(contest.evaluations(20, lambda *_: silent("")))) == 2
    assert made == ["pro", "easy", "standard"]


# ---- stopped and killed --------------------------------------------------------------------------
STOPPED = """
import os, signal
from hearts_train.measure.duel import Duel

play = Duel.play
played = []

def stop_in_the_fifth_block(self, first, deals, progress=None):
    def tell(done):
        if len(played) == 4 and done > first + deals / 2:
            os.kill(os.getpid(), signal.{name})
        if progress is not None:
            progress(done)
    block = play(self, first, deals, tell)
    played.append(deals)
    return block

Duel.play = stop_in_the_fifth_block
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_tournament_that_is_stopped_goes_on_to_the_same_result(tmp_path, name, status):
    file = tmp_path / "results.jsonl"
    words = ("tournament", *ENTERED, "--deals", PAIRS, "--seed", 5, "--save", file)
    process = command(*words, before=STOPPED.format(name=name))
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == status, err
    # Five of nine blocks were begun (three pairings; blocks of 16, 32, 52), four are kept.
    assert len(file.read_bytes().splitlines()) == 1 + 4
    if name != "SIGKILL":
        assert "stopped early" in out
        assert f"hearts tournament --resume {file}" in err
    resumed = json.loads(run("tournament", "--resume", file, "--json").stdout)
    whole = tournament(ENTERED, deals=PAIRS, seed=5).to_json()
    assert timeless(resumed) == timeless(json.loads(json.dumps(whole)))


def test_an_evaluation_that_is_stopped_keeps_its_blocks_and_goes_on(tmp_path, count_blocks):
    file = tmp_path / "results.jsonl"

    def stop(done, deals):
        if done > 60:
            signal.raise_signal(signal.SIGTERM)

    with interruptible():
        stopped = evaluate(*ARGUMENTS, stop, out=file)
    assert (stopped.interrupted, stopped.deals) == (True, 48)
    count_blocks.clear()
    whole = evaluate(*ARGUMENTS, resume=file)
    assert count_blocks == [52]
    assert timeless(whole.to_json()) == timeless(evaluate(*ARGUMENTS).to_json())
    with pytest.raises(Interrupted), interruptible():  # before anything stands
        evaluate(*ARGUMENTS, lambda done, deals: signal.raise_signal(signal.SIGTERM))


@pytest.mark.slow
def test_resume_takes_everything_from_the_file(tmp_path):
    file = tmp_path / "results.jsonl"
    words = ("evaluate", "standard", "--opponents", "easy,random", "--deals", 40, "--rules", "mini")
    whole = json.loads(run(*words, "--seed", 3, "--save", file, "--json").stdout)
    assert read_settings(file)["seed"] == 3
    assert (
        json.loads(run("evaluate", "--resume", file, "--json").stdout)[0]["margin"]
        == (whole[0]["margin"])
    )
    mistake(run("evaluate", "--resume", file, "--deals", 50), "--deals")
    mistake(run("evaluate", "pro", "--resume", file), "agents")
    mistake(run("tournament", "--resume", file), "resume", "--resume")
    mistake(run("evaluate", "--resume", tmp_path / "nothing"), str(tmp_path / "nothing"))
    mistake(run("evaluate"), "agent")


def test_a_full_disk_is_told_with_the_file_and_what_was_written_stays(tmp_path):
    resource = pytest.importorskip("resource")
    file, limits = tmp_path / "results.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    zeros = np.zeros((4, 2), np.int64)
    block = Block(0, 2, zeros, zeros, zeros[:, 0])

    def fill():
        with results_file(file, None, {}) as results:
            results.append((0, 1), block)
            full = len(file.read_bytes()) + 40
            resource.setrlimit(resource.RLIMIT_FSIZE, (full, limits[1]))
            results.append((0, 2), block)

    try:
        with pytest.raises(OSError, match=r"results\.jsonl") as told:
            fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert told.value.filename == str(file)
    kept, _, rest = file.read_bytes().rpartition(b"\n")
    assert len(rest) == 40
    with results_file(None, file, {}) as results:  # the line that was cut short is cut off
        results.append((0, 2), block)
    assert file.read_bytes().startswith(kept)
    assert len(file.read_bytes().splitlines()) == 3
