"""Classes of a script, a notebook or an unknown module in other processes."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hearts_agents.programs.process import python_environment
from hearts_agents.user_code import find_code, packed
from hearts_env import HeartsError
from hearts_env.encoders import ENCODERS, register_encoder
from hearts_env.encoders.flat import FlatEncoder
from hearts_train.executor import spread
from hearts_train.measure.contest import Contest
from hearts_train.measure.evaluation import evaluate
from tests.players import CODE, Lowest
from tests.refusals import raises_hearts_error

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from gymnasium import spaces
from hearts_agents import Agent
from hearts_env import BatchView, register_encoder
from hearts_train import evaluate, load_config, train
from hearts_train.learn.ppo import PPO

BACKEND, FOLDER = sys.argv[1:]
SMALL = [
    "env={rules: micro, num_envs: 8, observation: legal}",
    "ppo={num_steps: 4, batch_size: 16}",
    "evaluation={times: 0, final_deals: 2, opponents: [easy]}",
    "budget.decisions=64",
]


class Legal:
    def space(self, rules):
        return spaces.Box(0, 1, (rules.num_actions,), np.int8)

    def write(self, view, out):
        out[list(view.legal_actions())] = 1


class Highest(Agent):
    files = ("script.py",)

    def act_batch(self, views):
        seen = views.observe("legal")
        return np.where(seen, np.arange(seen.shape[1]), -1).argmax(1)

    def act(self, view):
        return int(self.act_batch(BatchView.of([view]))[0])


def scaled(factor):
    class Scaled(PPO):
        algorithm = f"PPO times {factor}"

        def loss(self, batch):
            loss, figures = super().loss(batch)
            return factor * loss, figures

    return Scaled


if __name__ == "__main__":
    register_encoder("legal", Legal())
    alone = evaluate(Highest(), "easy", "micro", 40)
    for how in ({"workers": 2, "backend": BACKEND}, {"isolate": True}):
        result = evaluate(Highest(), "easy", "micro", 40, **how)
        assert (result.faults, result.margins.tolist()) == (0, alone.margins.tolist()), result
    result = train(
        load_config("smoke", SMALL), FOLDER, seeds=[0, 1], learner=scaled(2.0),
        progress=False, workers=2, backend=BACKEND,
    )
    assert result.is_finished
    assert "PPO times 2.0" in Path(FOLDER, "seed-0", "model_card.md").read_text()
    print("right")
"""


def output_of(backend: str, folder: Path, *, is_script: bool) -> str:
    """Return what the code prints: run as a script, or without a file like a notebook."""
    file = folder / "script.py"
    file.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(file) if is_script else "-", backend, str(folder / "runs")],
        input=None if is_script else SCRIPT,
        cwd=folder,  # that of the files that a notebook declares
        env=python_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr * bool(ran.returncode)


@pytest.mark.slow
@pytest.mark.parametrize("is_script", [True, False])
def test_own_classes_of_main_reach_workers(is_script, tmp_path):
    assert output_of("local", tmp_path, is_script=is_script) == "right\n"


@pytest.mark.slow
def test_own_classes_of_script_reach_ray(tmp_path):
    pytest.importorskip("ray")
    assert output_of("ray", tmp_path, is_script=True).endswith("right\n")


def loaded_elsewhere(data: bytes, expression: str) -> str:
    """Return the value of an expression about a packed `value` in another process."""
    code = f"import pickle, sys; value = pickle.load(sys.stdin.buffer); print({expression})"
    ran = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    return ran.stdout.decode().strip()


def test_packed_class_of_unknown_module_is_loaded_elsewhere(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "BASE = 40\n\n\nclass Mine:\n    def act(self, more):\n        return BASE + more\n"
    )
    mine = find_code(f"{file}:Mine")()
    assert loaded_elsewhere(packed("agent", mine, "none"), "value.act(2)") == "42"


def test_packed_class_of_main_is_loaded_elsewhere(monkeypatch):
    space: dict = {"__name__": "__main__"}
    exec("class Mine:\n    def act(self):\n        return 42\n", space)
    assert loaded_elsewhere(packed("agent", space["Mine"](), "none"), "value.act()") == "42"


@pytest.fixture
def with_file(tmp_path) -> Contest:
    """A contest of an object that declares the file ``weights``. Its module is not importable."""
    (tmp_path / "weights").write_text("1")
    (tmp_path / "mine.py").write_text(CODE.format(0) + "    files = ('weights',)\n")
    return Contest([find_code(f"{tmp_path / 'mine.py'}:Mine")(), "easy"], "micro")


@pytest.mark.slow
def test_file_of_object_is_found_in_another_process(with_file):
    (mine, _) = with_file.participants
    assert mine.digest == hashlib.sha256(b"\0" * 7 + b"\x01" + b"1").hexdigest()
    shown = "(value.participants[0].digest, value.participants[0].files)"
    found = loaded_elsewhere(packed("contest", with_file, ""), shown)
    assert found == str((mine.digest, mine.files))


def test_other_file_of_object_elsewhere_is_an_error(with_file, tmp_path):
    sent = packed("contest", with_file, "")
    (tmp_path / "weights").write_text("2")
    with raises_hearts_error(HeartsError, "agent", "'Mine'"):
        pickle.loads(sent)
    (tmp_path / "weights").unlink()
    with raises_hearts_error(HeartsError, "files", "'weights'", "'Mine'"):
        pickle.loads(sent)


class Locked(Lowest):
    def __init__(self):
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("how", [{"workers": 2}, {"isolate": True}])
def test_object_that_cannot_be_sent_is_named(how):
    argument = "workers" if "workers" in how else "agent"
    with raises_hearts_error(HeartsError, argument, "Locked", hint="FILE.py:CLASS"):
        evaluate(Locked(), "easy", "micro", 4, **how)


@pytest.mark.slow
def test_work_without_its_module_is_refused(tmp_path, monkeypatch):
    """The worker imports a module that is gone by then."""
    (tmp_path / "gone.py").write_text("def work(task):\n    return task\n")
    monkeypatch.syspath_prepend(tmp_path)
    from gone import work  # type: ignore[import-not-found]

    found = spread(work, [1, 2], workers=2)
    (tmp_path / "gone.py").unlink()
    monkeypatch.setattr("hearts_train.executor._pickled_work", lambda _: b"cgone\nwork\n.")
    with raises_hearts_error(HeartsError, "workers", "gone", hint="import"):
        list(found)


def test_encoder_that_cannot_be_sent_stays(monkeypatch):
    class Locks(FlatEncoder):
        def __init__(self):
            self.lock = threading.Lock()

    monkeypatch.setattr("hearts_env.encoders.ENCODERS", {**ENCODERS})
    register_encoder("locks", Locks())
    assert list(spread(abs, [-1, -2], workers=2)) == [1, 2]
