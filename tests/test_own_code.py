"""Results belong to the code that made them: learners, networks, encoders, agents, weights."""

from __future__ import annotations

import dataclasses
import enum
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from hearts_agents.models.checkpoint import read_checkpoint, save_checkpoint
from hearts_agents.user_code import packed
from hearts_env.encoders import ENCODERS, FlatEncoder
from hearts_train.learn import report, runs, training
from hearts_train.learn.config import ConfigError
from hearts_train.learn.own_code import OwnCode, change_of, code_of, continued, to_json
from hearts_train.learn.ppo import Learner
from hearts_train.learn.training import train
from hearts_train.learn.vrpo import VRPOLearner
from tests.refusals import raises_hearts_error
from tests.test_seeds import SHORT
from tests.training_runs import on_update, recipe, stop
from tests.training_runs import quick as quick
from tests.training_runs import whole as whole


@pytest.fixture
def plain(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no pictures."""
    monkeypatch.setattr(training, "plot", lambda *_: None)
    monkeypatch.setattr(report, "draw_curves", lambda *_: None)


SCALE = 1.0
TABLE = {"a": {1, 2}, "b": frozenset("xyz")}
LOCK = threading.Lock()


class Kind(enum.Enum):
    ONE = 1


@dataclasses.dataclass
class Settings:
    scale: float = 1.0


class Pair(NamedTuple):
    one: int = 1


def scaled(loss: Any) -> Any:
    return SCALE * loss


class Scaled(Learner):
    factor = 1.0

    @torch.no_grad()
    def unused(self) -> Any:
        return Kind.ONE, Settings(), Pair(), TABLE, os.sep, torch.float32

    def loss(self, some: Any) -> Any:
        loss, figures = super().loss(some)
        return self.factor * scaled(loss), figures


class Other(Learner):
    pass


class Locked(Learner):
    def loss(self, some: Any) -> Any:
        with LOCK:
            return super().loss(some)


# ---- finished and unfinished runs ----------------------------------------------------------------
def train_seed(folder: Path, learner: type[Learner] | None, **settings: Any) -> Any:
    config = recipe(*SHORT)
    return train(config, folder, seeds=[3], workers=1, progress=False, learner=learner, **settings)


@pytest.mark.parametrize("learner", [None, Other])
def test_finished_seed_of_another_class_is_refused(tmp_path, plain, learner):
    before = train_seed(tmp_path, Scaled)
    assert train_seed(tmp_path, Scaled).to_json() == before.to_json()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with raises_hearts_error(ConfigError, "run", "seed-3", "Scaled", hint="another folder"):
        train_seed(tmp_path, learner)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_finished_runs_of_changed_code_are_refused(tmp_path, plain, monkeypatch):
    train_seed(tmp_path, Scaled)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
    with raises_hearts_error(ConfigError, "run", "seed-3", "Scaled", hint="another folder"):
        train_seed(tmp_path, Scaled)
    with raises_hearts_error(ConfigError, "run", "seed-3", "Scaled", hint="another folder"):
        train(resume=tmp_path / "seed-3", learner=Scaled, progress=False)


def test_finished_run_of_code_unknown_is_refused(tmp_path, plain):
    train_seed(tmp_path, Locked)
    with raises_hearts_error(ConfigError, "run", "Locked", hint="another folder"):
        train_seed(tmp_path, Locked)
    player = tmp_path / "seed-3" / runs.CHECKPOINT_NAME
    tensors, meta = read_checkpoint(player)
    odd = {"learner": "m.L", "digests": {"m.L": "# title\n"}}
    for code in ("none", [], [{"learner": 1}], [odd]):
        save_checkpoint(player, tensors, dataclasses.replace(meta, training={"code": code}))
        with raises_hearts_error(ConfigError, "run", "seed-3", hint="another folder"):
            train_seed(tmp_path, Locked)


def test_unfinished_run_of_changed_code_resumes_with_warning(tmp_path, plain, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        on_update(patched, stop, 2)
        train(recipe(*SHORT), tmp_path / "run", learner=Scaled, progress=False)
    (first,) = runs.load_state(tmp_path / "run" / runs.STATE_NAME).code
    monkeypatch.setattr(Scaled, "factor", 2.0)
    assert train(resume=tmp_path / "run", learner=Scaled).is_finished
    assert "warning" in capsys.readouterr().err
    history = runs.load_state(tmp_path / "run" / runs.STATE_NAME).code
    assert [(one.learner, one.since) for one in history] == [(first.learner, n) for n in (0, 2)]
    card = (tmp_path / "run" / runs.CARD_NAME).read_text()
    for code in history:
        assert (code.digests[first.learner] or "")[:16] in card
    assert history[0] == first != history[1]


def test_changed_code_of_seeds_in_processes_is_shown(tmp_path, plain, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        on_update(patched, stop, 2)
        train_seed(tmp_path, Scaled)
    monkeypatch.setattr(Scaled, "factor", 2.0)
    monkeypatch.setattr(training, "spread", lambda *_, **__: [])
    capsys.readouterr()
    train(recipe(*SHORT), tmp_path, seeds=[3, 5], workers=2, learner=Scaled)
    lines = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(lines) == 1
    assert lines[0].startswith("seed 3: warning: ")
    assert "Scaled' has changed" in lines[0]


def test_larger_budget_continues_with_changed_code(tmp_path, plain, monkeypatch):
    train(recipe(*SHORT), tmp_path / "run", learner=Scaled, progress=False)
    monkeypatch.setattr(Scaled, "factor", 2.0)
    more = recipe(*SHORT, "budget.decisions=288")
    assert train(more, resume=tmp_path / "run", learner=Scaled, progress=False).is_finished


def test_history_omits_code_that_made_no_update():
    one, two = OwnCode("m.A", {"m.A": "1"}), OwnCode("m.A", {"m.A": "2"})
    history = continued(continued([], one, 0), two, 5)
    assert history == [one, dataclasses.replace(two, since=5)]
    assert continued(history, two, 9) == history
    assert continued(history, one, 5) == [one]


def test_names_in_a_card_stay_in_their_line(whole):
    _, meta = read_checkpoint(whole)
    code = to_json([OwnCode("m.L", {"a\n# b`": "0" * 64})])
    card = report.format_card(
        dataclasses.replace(meta, training=meta.training | {"code": code}), []
    )
    (line,) = (line for line in card.splitlines() if "Own code" in line)
    assert line.endswith("`` a\\n# b` `` " + "0" * 16)


# ---- digests -------------------------------------------------------------------------------------
def learner_code(learner: type[Learner]) -> OwnCode:
    return code_of(recipe(), learner)


def test_own_classes_have_digests_and_others_none():
    for learner in (Learner, VRPOLearner):
        assert learner_code(learner).digests == {}
    name = f"{__name__}.Scaled"
    assert learner_code(Scaled) == learner_code(Scaled)
    assert learner_code(Scaled).learner == name
    assert learner_code(Scaled).digests[name]
    assert learner_code(Locked).digests == {f"{__name__}.Locked": None}


def class_of(text: str, **names: Any) -> type[Learner]:
    """Return the class L of a program without a file, as a notebook defines it."""
    space = {"__name__": "__main__", "Learner": Learner} | names
    exec(text, space)
    found: type[Learner] = space["L"]
    return found


CELL = """
SCALE = 1
def twice(x): return 2 * x
class Base(Learner):
    def outer(self): return lambda: SCALE
class L(Base):
    factor = 3
    def loss(self, some): return twice(some)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 1", "SCALE = 2"),
        ("2 * x", "3 * x"),
        ("factor = 3", "factor = 4"),
        ("twice(some)", "twice(twice(some))"),
        ("lambda: SCALE", "lambda: -SCALE"),
        ("class L(Base)", "class L(Learner)"),
    ],
)
def test_digest_of_notebook_class_covers_what_it_uses(old, new):
    assert learner_code(class_of(CELL)) == learner_code(class_of("# a comment\n" + CELL))
    assert learner_code(class_of(CELL)) != learner_code(class_of(CELL.replace(old, new)))


def test_digest_covers_the_values_around_a_class():
    def made(scale: float) -> type[Learner]:
        class Inner(Learner):
            def loss(self, some: Any) -> Any:
                return scale

        return Inner

    assert learner_code(made(1.0)) == learner_code(made(1.0))
    assert learner_code(made(1.0)) != learner_code(made(2.0))


@pytest.mark.slow
def test_digests_are_equal_in_every_process(tmp_path):
    made = class_of(CELL)
    (tmp_path / "sent").write_bytes(packed("workers: the work", made, "use one worker"))
    text = (
        "import pickle, sys; from tests import test_own_code as t;"
        "sent = pickle.load(open(sys.argv[1], 'rb'));"
        "print(*[t.learner_code(one) for one in (t.Scaled, t.class_of(t.CELL), sent)], sep='\\n')"
    )
    for seed in ("1", "2"):
        words = [sys.executable, "-c", text, str(tmp_path / "sent")]
        found = subprocess.check_output(words, env=os.environ | {"PYTHONHASHSEED": seed}, text=True)
        assert found.splitlines() == [str(learner_code(one)) for one in (Scaled, made, made)]


NETWORK = "from torch import nn\nclass Net(nn.Module): pass\n"
AGENT = "class Bot:\n    def act(self, view):\n        return view.legal_actions()[0]\n"


@pytest.mark.parametrize(
    ("setting", "file", "text"),
    [
        ("network.module=own.py:Net", "own.py", NETWORK),
        ("env.observation=own.py:Net", "own.py", NETWORK),
        ("opponents={self: 1, 'own.py:Bot': 1}", "own.py", AGENT),
        ("evaluation.opponents=['own.py:Bot']", "own.py", AGENT),
        ("evaluation.opponents=['exec:./own.sh']", "own.sh", "#!/bin/sh\n"),
    ],
)
def test_changed_files_of_code_are_noticed(tmp_path, monkeypatch, setting, file, text):
    monkeypatch.chdir(tmp_path)
    config, found = recipe(setting), []
    for number, content in enumerate((text, text, text + "# changed\n")):
        Path(file).write_text(content)
        Path(file).chmod(0o755)
        os.utime(file, (number, number))
        found.append(code_of(config, Learner))
    assert len(found[0].digests) == 1
    assert change_of(found[0], found[1]) == ""
    assert file in change_of(found[1], found[2])


@pytest.mark.parametrize("place", ["opponents={self: 1, run: 1}", "network.start=run"])
def test_changed_weights_are_noticed(whole, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, "run")
    config = recipe(place, "ppo.magnet=run")  # not used as a magnet
    before = code_of(config, Learner)
    tensors, meta = read_checkpoint("run")
    save_checkpoint(Path("run", runs.CHECKPOINT_NAME), tensors, meta)
    assert change_of(before, code_of(config, Learner)) == ""
    changed = {name: tensor + 1 for name, tensor in tensors.items()}
    save_checkpoint(Path("run", runs.CHECKPOINT_NAME), changed, meta)
    assert "run" in change_of(before, code_of(config, Learner))


def test_changed_registered_encoder_is_noticed(monkeypatch):
    class Own(FlatEncoder):
        scale = 1

    config = recipe("env.observation=own")
    monkeypatch.setitem(ENCODERS, "own", Own())
    before = code_of(config, Learner)
    assert change_of(before, code_of(config, Learner)) == ""
    monkeypatch.setattr(Own, "scale", 2)
    assert "own" in change_of(before, code_of(config, Learner))


def test_agents_of_the_package_have_no_digests():
    config = recipe("evaluation.opponents=[easy, pro, 'pimc_belief?model=pro']")
    assert code_of(config, Learner).digests == {}


def test_unused_magnet_is_not_looked_for():
    assert code_of(recipe("ppo.magnet=nowhere/player"), Learner).digests == {}
