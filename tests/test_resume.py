"""Nothing is lost when runs are stopped, killed, doubled, diverge, or meet bad files and disks."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from typer.testing import CliRunner

from hearts_agents import make_agent
from hearts_agents._tensors import read_tensors, write_tensors
from hearts_agents.network import read_checkpoint
from hearts_agents.sb3 import HeartsSB3VecEnv
from hearts_env import CheckpointError, HeartsError
from hearts_env._files import held
from hearts_env._interrupts import Interrupted
from hearts_train import ppo, runs
from hearts_train.cli import app
from hearts_train.config import ConfigError, TrainConfig, load_config
from hearts_train.ppo import DivergenceError, Trainer, train
from tests.faults import KINDS, Died, Faults

ROOT = Path(__file__).resolve().parents[1]
SIGNALS = [signal.SIGINT, signal.SIGTERM] + [signal.SIGHUP] * hasattr(signal, "SIGHUP")


def recipe(*overrides: str) -> TrainConfig:
    """A run of ten updates with every kind of opponent, most of them between two deals."""
    return load_config(
        "smoke",
        [
            "threads=1",
            "env={rules: mini, num_envs: 24, reward: trick}",
            "ppo={num_steps: 3, batch_size: 24, num_epochs: 2}",
            "network={trunk: [8], policy: [8], value: [4]}",
            "schedule="
            "[{until: 0.6, opponents: {self: 1, easy: 1}}, {opponents: {self: 2, pro: 1}}]",
            "self_play={keep: 2, keep_every: 2}",
            "budget.decisions=720",
            "evaluation={times: 5, pairs: 2, opponents: [standard, easy]}",
            "checkpoint.every_seconds=1e9",
            *overrides,
        ],
    )


@pytest.fixture(autouse=True)
def hears_signals() -> Iterator[None]:
    """Also where the suite was started in the background, which ignores Ctrl-C."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def quick(monkeypatch) -> None:
    """Without pictures and TensorBoard, which take longer than all the rest."""
    monkeypatch.setattr(runs, "draw_curve", lambda *_: None)
    monkeypatch.setattr(runs, "_tensorboard", lambda *_: None)


def on_update(monkeypatch: pytest.MonkeyPatch, action: Callable[[Trainer], None]) -> None:
    """Do something after each update, before it is logged or saved."""
    update = Trainer._update

    def watched(self: Trainer) -> dict[str, Any]:
        row = update(self)
        action(self)
        return row

    monkeypatch.setattr(Trainer, "_update", watched)


def history(folder: Path) -> dict[str, Any]:
    """All that a run has come to, but for what its clock said."""
    state = runs.load_state(folder / runs.STATE_NAME)
    counters = vars(state.counters) | {"seconds": 0, "learning_seconds": 0, "starts": 0}
    rows = [
        {k: v for k, v in row.items() if k not in ("seconds", "decisions_per_second")}
        for row in runs.read_metrics(folder)
    ]
    kept = sorted((folder / runs.CHECKPOINTS_NAME).iterdir())
    files = {path.name: load_file(path) for path in [folder / runs.CHECKPOINT_NAME, *kept]}
    tensors = {f"{file}/{n}": a for file, found in files.items() for n, a in found.items()}
    return {
        "counters": counters,
        "rows": rows,
        "games": state.games,
        "tensors": {n: a.tolist() for n, a in (state.tensors | tensors).items()},
    }


def assert_same_history(one: Path, two: Path) -> None:
    a, b = history(one), history(two)
    for name in a:
        if name != "tensors":
            assert a[name] == b[name], name
    differing = [
        n for n in a["tensors"] | b["tensors"] if a["tensors"].get(n) != b["tensors"].get(n)
    ]
    assert not differing


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that nobody disturbed."""
    folder: Path = tmp_path_factory.mktemp("runs") / "whole"
    assert train(recipe(), folder, progress=False).updates == 10
    return folder


# ---- the same to the last bit --------------------------------------------------------------------
@pytest.mark.parametrize("stops", [(1,), (2, 3, 7), (5, 9), tuple(range(1, 10))])
def test_a_run_stopped_and_resumed_is_the_run_never_stopped(
    whole, tmp_path, monkeypatch, quick, stops
):
    def stop(trainer: Trainer) -> None:
        if trainer.counters.updates in stops:
            os.kill(os.getpid(), signal.SIGINT)

    on_update(monkeypatch, stop)
    folder = tmp_path / "run"
    result = train(recipe(), folder, progress=False)
    for count in stops:
        assert (result.updates, result.is_finished) == (count, False)
        assert result.signal_number == signal.SIGINT
        result = train(resume=folder, progress=False)
    assert result.is_finished
    assert_same_history(folder, whole)


@pytest.mark.parametrize("saves", [0.0001, 1e9], ids=["saved each update", "saved at the start"])
def test_a_run_killed_and_resumed_is_the_run_never_killed(
    whole, tmp_path, monkeypatch, quick, saves
):
    kills = iter([3, 3, 6, 8])
    next_kill = next(kills)

    def kill(trainer: Trainer) -> None:
        nonlocal next_kill
        if trainer.counters.updates == next_kill:
            next_kill = next(kills, 0)
            raise Died

    on_update(monkeypatch, kill)
    folder = tmp_path / "run"
    config = recipe(f"checkpoint.every_seconds={saves}")
    with pytest.raises(Died):
        train(config, folder, progress=False)
    for _ in range(3):
        with pytest.raises(Died):
            train(resume=folder, progress=False)
        log = (folder / runs.METRICS_NAME).read_bytes()
        (folder / runs.METRICS_NAME).write_bytes(log + b'{"kind": "update", "deci')  # torn
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)


def test_a_process_killed_in_an_update_goes_on_where_it_last_saved(whole, tmp_path):
    """The only test with a real SIGKILL; the lock of the dead is free, its unfinished file goes."""
    folder = tmp_path / "run"
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from hearts_train.config import load_config; from hearts_train.ppo import Trainer, train\n"
        "update = Trainer._update\n"
        "def killed(self):\n"
        "    if self.counters.updates == 4:\n"
        "        Path(sys.argv[2], f'.x.{os.getpid()}-01234567.tmp').touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return update(self)\n"
        "Trainer._update = killed\n"
        "train(load_config(sys.argv[1]), Path(sys.argv[2]), progress=False)\n"
    )
    config = tmp_path / "smoke.yaml"
    config.write_text(recipe("checkpoint.every_seconds=0.0001").to_yaml())
    roots = [str(ROOT), str(ROOT / "agents"), str(ROOT / "train")]
    process = subprocess.run(
        [sys.executable, "-c", code, str(config), str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(roots)},
    )
    assert process.returncode == -signal.SIGKILL
    assert list(folder.glob(".*.tmp"))
    assert runs.load_state(folder / runs.STATE_NAME).counters.updates == 4
    assert train(resume=folder, progress=False).is_finished
    assert not list(folder.glob(".*.tmp"))
    assert_same_history(folder, whole)


def test_games_with_an_exchange_go_on_in_the_middle_of_it(tmp_path, quick, monkeypatch):
    settings = [
        "env={rules: classic, num_envs: 12, reward: margin, skip_forced: false}",
        "ppo={num_steps: 2, batch_size: 24, num_epochs: 1}",
        "schedule=[{opponents: {standard: 1, self: 1}}]",
        "budget.decisions=192",
        "evaluation.times=1",
    ]
    train(recipe(*settings), tmp_path / "whole", progress=False)

    def stop(trainer: Trainer) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    on_update(monkeypatch, stop)
    train(recipe(*settings), tmp_path / "run", progress=False)
    while not train(resume=tmp_path / "run", progress=False).is_finished:
        pass
    assert runs.load_state(tmp_path / "run" / runs.STATE_NAME).counters.starts >= 8
    assert_same_history(tmp_path / "run", tmp_path / "whole")


def test_warming_up_leaves_no_trace():
    trainer = Trainer(recipe())
    before = trainer.state()
    trainer._warm_up()
    after = trainer.state()
    assert before.counters == after.counters
    assert before.tensors.keys() == after.tensors.keys()
    for name, array in before.tensors.items():
        assert np.array_equal(array, after.tensors[name]), name


def test_other_games_begin_with_other_deals_where_the_recipe_of_the_games_has_changed(
    tmp_path, quick
):
    first = Trainer(recipe()).env.arena.deals.copy()
    folder = tmp_path / "run"
    train(recipe("budget.decisions=72"), folder, progress=False)
    config = recipe("env.num_envs=36", "schedule=[{opponents: {standard: 1}}]")
    trainer = Trainer(config, runs.load_state(folder / runs.STATE_NAME))
    assert trainer.env.arena.num_envs == 36
    assert not set(trainer.env.arena.deals.tolist()) & set(first.tolist())
    assert train(config, resume=folder, progress=False).is_finished


def test_a_larger_budget_goes_on_from_a_finished_run(whole, tmp_path, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    before = history(folder)
    assert train(resume=folder, progress=False).updates == 10
    assert history(folder) == before
    assert train(recipe("budget.decisions=1000"), resume=folder, progress=False).updates == 14
    rows = [row["updates"] for row in runs.read_metrics(folder) if row["kind"] == "update"]
    assert rows == list(range(1, 15))


# ---- games as arrays -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "players"),
    [("two_player", 2), ("classic", 4), ("kitty", 5), ("micro moon=choose", 2)],
)
def test_environments_go_on_from_their_state(rules, players):
    def make() -> HeartsSB3VecEnv:
        opponents = [make_agent("easy", 1), make_agent("standard", 2)]
        return HeartsSB3VecEnv(16, rules, players, reward="trick", opponent=opponents, seed=5)

    def actions(env: HeartsSB3VecEnv, step: int) -> Any:
        noise = np.random.default_rng(step).random((16, env.rules.num_actions))
        return (env.action_masks() * (1 + noise)).argmax(axis=1)

    one, two = make(), make()
    one.reset()
    two.reset()
    for step in range(60):
        if step % 7 == 0:  # also in an exchange, and between two deals
            for _ in range(3):
                two.step(actions(two, step))
            two.restore(one.state())
            assert np.array_equal(one.arena.states, two.arena.states)
        a, b = one.step(actions(one, step)), two.step(actions(two, step))
        assert all(np.array_equal(x, y) for x, y in zip(a[:3], b[:3], strict=True))
        assert [i.get("seed") for i in a[3]] == [i.get("seed") for i in b[3]]


def spoilt(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def spoil(state: dict[str, Any]) -> None:
        state[name] = np.full_like(state[name], value) if np.isscalar(value) else value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda state: state.pop("cast"), r"state\.cast.*no array"),
        (spoilt("cast", 2), r"state\.cast.*\[0, 2\)"),
        (spoilt("cast", -1), r"state\.cast"),
        (spoilt("learner", 2), r"state\.learner"),
        (spoilt("numbers", -(2**62)), r"state\.numbers"),
        (spoilt("seeds", np.zeros(3, np.int64)), r"state\.seeds.*\(3,\)"),
        (spoilt("returns", np.nan), r"state\.returns.*finite"),
        (spoilt("carry", np.inf), r"state\.carry.*finite"),
        (spoilt("games/actions", 0), r"actions.*game 0.*cannot be played"),
        (spoilt("games/actions", 127), r"actions.*cannot be played"),
        (spoilt("games/seeds", -1), "seeds"),
        (spoilt("opponents/easy", np.zeros(2, np.uint64)), "'easy'.*2 random numbers"),
        (lambda state: state.pop("opponents/easy"), "'easy'.*missing"),
        (spoilt("seeding", np.zeros(6, np.uint64)), "PCG64"),
    ],
)
def test_states_of_other_games_are_refused(spoil, words):
    env = HeartsSB3VecEnv(8, "mini", opponent=["easy", "standard"], seed=1)
    with pytest.raises(HeartsError, match="reset"):
        env.state()
    env.reset()
    state = env.state()
    spoil(state)
    with pytest.raises(HeartsError, match=words):
        env.restore(state)
    env.reset()
    with pytest.raises(HeartsError, match="match"):
        HeartsSB3VecEnv(2, "mini", episode="match").arena.state()


# ---- one trainer a folder ------------------------------------------------------------------------
def test_a_second_trainer_in_the_folder_is_refused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    before = {path: path.read_bytes() for path in folder.glob("*.*") if path.is_file()}
    with held(folder / runs.LOCK_NAME, "test"):
        with pytest.raises(CheckpointError, match=f"in use by process {os.getpid()}; wait"):
            train(recipe("budget.decisions=5000"), resume=folder, progress=False)
        with pytest.raises(ConfigError, match="--resume"):
            train(recipe(), folder, progress=False)
        (tmp_path / "new").mkdir()
        with held(tmp_path / "new" / runs.LOCK_NAME, "test"), pytest.raises(CheckpointError):
            train(recipe(), tmp_path / "new", progress=False)
        told = CliRunner().invoke(app, ["train", "--resume", str(folder)])
        assert told.exit_code == 2
        assert told.stderr.startswith("error: run:")
        assert told.stderr.count("\n") == 1
    assert all(path.read_bytes() == content for path, content in before.items())
    assert train(resume=folder, progress=False).is_finished


# ---- starts that were killed ---------------------------------------------------------------------
@pytest.mark.parametrize("way", ["resume", "anew"])
def test_a_start_killed_before_its_first_save_goes_on_either_way(
    whole, tmp_path, monkeypatch, quick, way
):
    folder = tmp_path / "run"

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(runs, "save_state", die)
        with pytest.raises(Died):
            train(recipe(), folder, progress=False)
    assert not (folder / runs.STATE_NAME).exists()
    if way == "resume":
        result = train(resume=folder, progress=False)
    else:
        result = train(recipe(), folder, progress=False)
    assert result.is_finished
    assert_same_history(folder, whole)


def test_a_start_killed_while_compiling_has_written_nothing_but_the_lock(tmp_path, monkeypatch):
    def die(*_: Any) -> None:
        raise Died

    monkeypatch.setattr(Trainer, "_warm_up", die)
    with pytest.raises(Died):
        train(recipe(), tmp_path / "run", progress=False)
    assert [path.name for path in (tmp_path / "run").iterdir()] == [runs.LOCK_NAME]
    with pytest.raises(CheckpointError, match=runs.CONFIG_NAME):
        train(resume=tmp_path / "run", progress=False)


# ---- signals -------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_saves_and_stops_with_its_own_exit_status(
    tmp_path, monkeypatch, quick, number
):
    on_update(
        monkeypatch,
        lambda trainer: os.kill(os.getpid(), number) if trainer.counters.updates == 3 else None,
    )
    handlers = [signal.getsignal(n) for n in SIGNALS]
    config, folder = tmp_path / "kept.yaml", tmp_path / "run"
    config.write_text(recipe("evaluation.times=0").to_yaml())
    result = CliRunner().invoke(app, ["train", str(config), "--out", str(folder)])
    assert [signal.getsignal(n) for n in SIGNALS] == handlers
    assert result.exit_code == 128 + number, result.stderr
    assert f"go on with: hearts train --resume {folder}" in result.stderr
    assert runs.load_state(folder / runs.STATE_NAME).counters.updates == 3
    make_agent(folder)


def test_a_terminal_that_has_gone_does_not_keep_a_run_from_being_saved(
    tmp_path, monkeypatch, quick
):
    class Gone(io.StringIO):
        """A terminal after SIGHUP."""

        def write(self, text: str) -> int:
            if gone:
                raise OSError(5, "Input/output error")
            return len(text)

    def hang_up(trainer: Trainer) -> None:
        if trainer.counters.updates == 3:
            gone.append(True)
            os.kill(os.getpid(), signal.SIGHUP)

    gone: list[bool] = []
    monkeypatch.setattr(sys, "stderr", Gone())
    on_update(monkeypatch, hang_up)
    result = train(recipe(), tmp_path / "run", progress=True)
    assert (result.updates, result.signal_number) == (3, signal.SIGHUP)
    assert runs.load_state(tmp_path / "run" / runs.STATE_NAME).counters.updates == 3


def test_a_signal_while_compiling_is_kept_until_everything_is_saved(tmp_path, monkeypatch, quick):
    warm_up = Trainer._warm_up

    def interrupted(self: Trainer) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        warm_up(self)

    monkeypatch.setattr(Trainer, "_warm_up", interrupted)
    result = train(recipe(), tmp_path / "run", progress=False)
    assert (result.updates, result.signal_number) == (0, signal.SIGTERM)
    assert runs.load_state(tmp_path / "run" / runs.STATE_NAME).counters.updates == 0


def test_a_second_signal_stops_at_once(whole, tmp_path, monkeypatch, quick):
    def stop(trainer: Trainer) -> None:
        if trainer.counters.updates == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

    on_update(monkeypatch, stop)
    with pytest.raises(Interrupted) as caught:
        train(recipe(), tmp_path / "run", progress=False)
    assert caught.value.number == signal.SIGTERM
    monkeypatch.undo()
    assert train(resume=tmp_path / "run", progress=False).is_finished
    assert_same_history(tmp_path / "run", whole)


# ---- divergence ----------------------------------------------------------------------------------
def test_a_run_that_diverges_ends_with_its_last_good_player(tmp_path, monkeypatch, quick):
    def spoil(model: Any) -> None:
        train_once(model)
        if model.num_timesteps == 5 * 72:
            with torch.no_grad():
                model.policy.action_net.bias[2] = torch.nan

    train_once = ppo.MaskablePPO.train
    monkeypatch.setattr(ppo.MaskablePPO, "train", spoil)
    folder = tmp_path / "run"
    config = recipe("checkpoint.every_seconds=0.0001")
    with pytest.raises(DivergenceError, match=r"update 5: .*diverged.*ppo\.learning_rate"):
        train(config, folder, progress=False)
    assert runs.load_state(folder / runs.STATE_NAME).counters.updates == 4
    _, meta = read_checkpoint(folder)
    assert meta.training["updates"] == 4
    make_agent(folder)
    monkeypatch.undo()
    assert train(resume=folder, progress=False).is_finished


def test_the_players_of_the_last_three_evaluations_and_the_best_are_kept(whole):
    rows = [r for r in runs.read_metrics(whole) if r.get("opponent") == "standard"]
    assert [row["decisions"] for row in rows] == [0, 144, 288, 432, 576, 720]
    names = sorted(path.name for path in (whole / runs.CHECKPOINTS_NAME).iterdir())
    assert names == [f"{d:012d}.safetensors" for d in (432, 576, 720)] + [runs.BEST_NAME]
    _, best = read_checkpoint(whole / runs.CHECKPOINTS_NAME / runs.BEST_NAME)
    most = max(row["margin"] for row in rows)
    assert best.training["decisions"] in [r["decisions"] for r in rows if r["margin"] == most]
    last, current = (
        read_checkpoint(path)[0]
        for path in (whole / runs.CHECKPOINTS_NAME / names[2], whole / runs.CHECKPOINT_NAME)
    )
    assert all(np.array_equal(last[name], current[name]) for name in current)


# ---- disks that fail -----------------------------------------------------------------------------
def test_a_failed_save_is_told_and_tried_again(whole, tmp_path, monkeypatch, quick, capsys):
    failures = []
    save = runs.save_state

    def full(path: Path, state: runs.State) -> None:
        if 3 <= state.counters.updates <= 5:
            failures.append(state.counters.updates)
            raise OSError(28, "No space left on device", str(path))
        save(path, state)

    monkeypatch.setattr(runs, "save_state", full)
    folder = tmp_path / "run"
    result = train(recipe("checkpoint.every_seconds=0.0001"), folder, progress=True)
    assert result.is_finished
    assert failures == [3, 4, 5]
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("No space left on device; training goes on") == 3
    assert_same_history(folder, whole)


def test_a_failed_last_save_is_one_line_and_the_run_can_be_resumed(
    whole, tmp_path, monkeypatch, quick
):
    def full(path: Path, state: runs.State) -> None:
        if state.counters.updates:
            raise OSError(28, "No space left on device", str(path))
        save(path, state)

    save = runs.save_state
    folder = tmp_path / "run"
    monkeypatch.setattr(runs, "save_state", full)
    with pytest.raises(CheckpointError, match=r"state.*No space left on device.*--resume"):
        train(recipe(), folder, progress=False)
    monkeypatch.setattr(runs, "save_state", save)
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)


def test_lines_that_did_not_fit_on_the_disk_come_later(tmp_path, monkeypatch):
    class Full:
        """A file on a disk that has room for `room` bytes."""

        def __init__(self, file: Any) -> None:
            self.file, self.room = file, 70

        def write(self, data: bytes) -> int:
            if not self.room:
                raise OSError(28, "No space left on device")
            written: int = self.file.write(data[: self.room])
            self.room -= written
            return written

        def close(self) -> None:
            self.file.close()

    monkeypatch.setattr(runs, "_tensorboard", lambda *_: None)
    metrics = runs.Metrics(tmp_path, runs.Counters())
    full = metrics._file = Full(metrics._file)  # type: ignore[assignment]
    row = {"updates": 1, "decisions_per_second": 1.0, "seconds": 1.0}
    for update in (1, 2, 3):
        metrics.write("update", update, row | {"updates": update})
    with pytest.raises(OSError, match="No space") as caught:
        metrics.flush()
    assert caught.value.filename == str(metrics.path)
    assert [r["updates"] for r in runs.read_metrics(tmp_path)] != [1, 2, 3]
    full.room = 1000
    metrics.close()
    assert [r["updates"] for r in runs.read_metrics(tmp_path)] == [1, 2, 3]


@pytest.fixture(scope="module")
def two_saves(tmp_path_factory) -> tuple[Trainer, Path]:
    """A trainer that stands after one update, and a folder with what it saved before it."""
    folder = tmp_path_factory.mktemp("runs")
    config = recipe("budget.decisions=144", "evaluation.times=0")
    trainer = Trainer(config)
    save_all(trainer, folder)
    trainer._update()
    return trainer, folder


def save_all(trainer: Trainer, folder: Path) -> None:
    """What a run writes when it starts or is resumed, and what it keeps of an evaluation."""
    (folder / runs.CONFIG_NAME).write_text(trainer.config.to_yaml())
    metrics = runs.Metrics(folder, trainer.counters)
    try:
        trainer._save(folder, metrics)
        meta = trainer.checkpoint(folder, [])
        tensors, _ = read_checkpoint(folder)
        runs.keep_checkpoint(folder, tensors, meta, is_best=True)
    finally:
        metrics.close()


def calls_of_a_save(two_saves: tuple[Trainer, Path], folder: Path) -> int:
    trainer, old = two_saves
    shutil.copytree(old, folder)
    with Faults() as faults:
        save_all(trainer, folder)
    return faults.count


@pytest.mark.parametrize("kind", KINDS)
def test_whichever_call_of_a_save_fails_the_folder_has_the_old_run_or_the_new(
    two_saves, tmp_path, quick, kind
):
    trainer, old = two_saves
    total = calls_of_a_save(two_saves, tmp_path / "counted")
    assert total > 30  # five files: open, write, fsync, replace, and open and fsync of the folder
    seen = set()
    for number in range(1, total + 1):
        folder = shutil.copytree(old, tmp_path / f"{number}")
        with Faults(number, kind), suppress(OSError, Died):
            save_all(trainer, folder)
        state = runs.load_state(folder / runs.STATE_NAME)
        _, meta = read_checkpoint(folder)
        assert state.counters.updates in (0, 1)
        assert meta.training["updates"] in (0, state.counters.updates)
        seen.add((state.counters.updates, meta.training["updates"]))
        for path in (folder / runs.CHECKPOINTS_NAME).glob("*.safetensors"):
            read_checkpoint(path)
        if kind != "exit":
            assert not list(folder.rglob(".*.tmp"))
        if kind == "exit" and number % 4 == 0:
            assert train(resume=folder, progress=False).updates == 2
        shutil.rmtree(folder)
    assert seen == {(0, 0), (1, 0), (1, 1)}


# ---- damaged files -------------------------------------------------------------------------------
def damages(content: bytes, rng: random.Random) -> dict[str, bytes]:
    """Forty ways to damage a file."""
    size = len(content)
    ways = {f"cut at {share:.0%}": content[: int(size * share)] for share in (0, 0.01, 0.5, 0.99)}
    ways["one byte short"] = content[:-1]
    ways["two bytes more"] = content + b"\xff\xfe"
    ways["twice"] = content + content
    ways["a block of zeros"] = content[: size // 3] + bytes(size // 3) + content[2 * size // 3 :]
    ways["zeros"] = bytes(size)
    ways["noise"] = rng.randbytes(size)
    ways["reversed"] = content[::-1]
    for number in range(8):
        place, flipped = rng.randrange(size), bytearray(content)
        flipped[place] ^= 1 << rng.randrange(8)
        ways[f"flip {number}"] = bytes(flipped)
        swapped = bytearray(content)
        swapped[place : place + 4] = rng.randbytes(4)
        ways[f"bytes {number}"] = bytes(swapped)
    foreign = [
        b"{}", b"[]", b"null", b"7", b'"x"', b"a: [", b"\x00", b"\xff\xfe", b"a: b: c",
        b"!!python/object/apply:os.system [echo]", b"9" * 4000, b"{a: 1}", b"- 1", b"%x",
    ]  # fmt: skip
    return ways | {f"foreign {text[:12]!r}": text for text in foreign}


FILES = [
    runs.CONFIG_NAME,
    runs.STATE_NAME,
    runs.CHECKPOINT_NAME,
    runs.METRICS_NAME,
    runs.CARD_NAME,
    runs.CURVE_NAME,
]


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_no_matter_or_is_told_of_in_one_line(
    whole, tmp_path, quick, monkeypatch, name
):
    # A damaged recipe may well be a recipe: of a larger budget, say.
    monkeypatch.setattr(Trainer, "progress", 1.0)
    monkeypatch.setattr(Trainer, "_is_evaluation_due", lambda _: False)
    content = (whole / name).read_bytes()
    resumed = 0
    ways = damages(content, random.Random(name))
    assert len(ways) >= 40
    if name in (runs.CARD_NAME, runs.CURVE_NAME):  # never read
        ways = {"cut": content[:9]}
    for way, damaged in ways.items():
        folder = shutil.copytree(whole, tmp_path / "run")
        (folder / name).write_bytes(damaged)
        resumed += resumes(folder, f"{name}: {way}")
        shutil.rmtree(folder)
    for way in ("missing", "a folder", "a dead link"):
        folder = shutil.copytree(whole, tmp_path / "run")
        (folder / name).unlink()
        if way == "a folder":
            (folder / name).mkdir()
        elif way == "a dead link":
            (folder / name).symlink_to(folder / "nowhere")
        resumed += resumes(folder, f"{name}: {way}")
        shutil.rmtree(folder)
    if name not in (runs.CONFIG_NAME, runs.STATE_NAME):
        assert resumed >= len(ways)  # training needs neither


def resumes(folder: Path, what: str) -> bool:
    """Whether a run resumes; that it does not may only be a HeartsError with one line."""
    try:
        return train(resume=folder, progress=False).is_finished
    except HeartsError:
        return False
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


ODD_LINES = [
    b"\xff\xfe", b"null", b"[]", b"7", b"{}", b'{"kind": "evaluation"}', b'{"kind": 7}',
    b'{"kind": "evaluation", "decisions": 0}', b'{"kind": "update", "decisions": 1e400}',
    b'{"kind": "update", "decisions": null}', b'{"kind": "update", "decisions": true}',
    b'{"kind": ["update"], "decisions": 1}', b"[" * 100_000, b"9" * 5000,
    b'{"kind": "evaluation", "decisions": 1, "updates": 0, "round": 0, "pairs": 2, "seed": 1, '
    b'"opponent": "easy", "margin": NaN, "won": 0.5, "seconds": 1, "ci95": [0, 1]}',
    b'{"kind": "evaluation", "decisions": 1, "updates": 0, "round": 0, "pairs": 2, "seed": 1, '
    b'"opponent": ["easy"], "margin": 0, "won": 0.5, "seconds": 1, "ci95": [0, 1]}',
    b'{"kind": "evaluation", "decisions": 1, "updates": 0, "round": 0, "pairs": 2, "seed": 1, '
    b'"opponent": "easy", "margin": 0, "won": 0.5, "seconds": 1, "ci95": [0, null]}',
]  # fmt: skip


def test_odd_lines_in_a_log_are_left_out(whole, tmp_path, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    log = (folder / runs.METRICS_NAME).read_bytes()
    lines = log.splitlines(keepends=True)
    mixed = b"".join(line + odd + b"\n" for line, odd in zip(lines, ODD_LINES * 2, strict=False))
    (folder / runs.METRICS_NAME).write_bytes(mixed + b"\xff\xfe")
    assert train(resume=folder, progress=False).is_finished
    assert (folder / runs.METRICS_NAME).read_bytes() == log


HEADERS: list[dict[str, Any]] = [
    {"counters": value}
    for value in ("", "{", "[]", "null", "[" * 3000, '{"decisions": 1}', '{"decisions": ["a"]}')
]
for field, value in [
    ("decisions", float("nan")), ("decisions", "7"), ("decisions", [1]), ("decisions", 1e30),
    ("decisions", 1.5), ("decisions", -1), ("decisions", True), ("decisions", 2**70),
    ("seconds", float("inf")), ("seconds", float("nan")), ("seconds", "1"), ("seconds", None),
    ("updates", None), ("starts", {}), ("evaluations", -3), ("unknown", 1),
]:  # fmt: skip
    HEADERS.append({"counters": json.dumps(vars(runs.Counters()) | {field: value})})


@pytest.mark.parametrize("header", HEADERS)
def test_counters_that_are_no_counters_are_refused(tmp_path, header):
    own = {"format": runs.STATE_FORMAT, "version": str(runs.STATE_VERSION), "games": ""}
    write_tensors(tmp_path / "state", {"a": np.zeros(3)}, own | header)
    with pytest.raises(CheckpointError, match="counters"):
        runs.load_state(tmp_path / "state")


def bad_tensors(tensors: dict[str, Any]) -> dict[str, dict[str, Any]]:
    weight = "policy/action_net.weight"
    return {
        "a weight is missing": {n: a for n, a in tensors.items() if n != weight},
        "a weight is NaN": tensors | {weight: np.full_like(tensors[weight], np.nan)},
        "a weight is double": tensors | {weight: tensors[weight].astype(np.float64)},
        "a weight is transposed": tensors | {weight: np.ascontiguousarray(tensors[weight].T)},
        "a moment is infinite": tensors
        | {"optimizer/0/exp_avg": np.full_like(tensors["optimizer/0/exp_avg"], np.inf)},
        "a moment is missing": {n: a for n, a in tensors.items() if n != "optimizer/1/step"},
        "no snapshot": {n: a for n, a in tensors.items() if not n.startswith("snapshot/")},
        "a snapshot of another size": tensors | {"snapshot/0/policy.0.bias": np.zeros(3, "f4")},
        "a snapshot far away": tensors | {"snapshot/99/policy.0.bias": np.zeros(8, "f4")},
        "a snapshot without number": tensors | {"snapshot/²/policy.0.bias": np.zeros(8, "f4")},
        "no games": {n: a for n, a in tensors.items() if not n.startswith("games/")},
        "games of another size": tensors | {"games/cast": np.zeros((3, 2), np.int64)},
        "an opponent that is not there": tensors
        | {"games/cast": np.full_like(tensors["games/cast"], 77)},
        "no random numbers": {n: a for n, a in tensors.items() if not n.startswith("rng/")},
        "other random numbers": tensors | {"rng/torch": np.zeros(5, np.uint8)},
        "a generator that is none": tensors | {"rng/buffer": np.zeros(6, np.uint64)},
    }


def test_states_that_do_not_fit_are_refused_though_their_digest_is_right(whole, tmp_path):
    tensors, header = read_tensors(whole / runs.STATE_NAME)
    folder = shutil.copytree(whole, tmp_path / "run")
    for what, spoilt in bad_tensors(tensors).items():
        write_tensors(folder / runs.STATE_NAME, spoilt, header)
        with pytest.raises(CheckpointError) as caught:
            train(resume=folder, progress=False)
        assert "does not fit" in str(caught.value), what


def test_what_cannot_be_resumed(whole, tmp_path):
    with pytest.raises(CheckpointError, match="no folder"):
        train(resume=tmp_path / "missing", progress=False)
    with pytest.raises(CheckpointError, match=runs.CONFIG_NAME):
        train(resume=tmp_path, progress=False)
    folder = shutil.copytree(whole, tmp_path / "run")
    (folder / runs.STATE_NAME).unlink()
    with pytest.raises(CheckpointError, match="without it a run cannot go on"):
        train(resume=folder, progress=False)
    shutil.copy(whole / runs.CHECKPOINT_NAME, folder / runs.STATE_NAME)
    with pytest.raises(CheckpointError, match="format"):
        train(resume=folder, progress=False)
    shutil.copy(whole / runs.STATE_NAME, folder / runs.STATE_NAME)
    for override in ("env.rules=micro", "network.policy=[16]", "env.observation=belief", "seed=9"):
        with pytest.raises(ConfigError, match="resumed run"):
            train(recipe(override), resume=folder, progress=False)
    (folder / runs.CONFIG_NAME).write_text(recipe("network.policy=[31]").to_yaml())
    with pytest.raises(CheckpointError, match="does not fit"):
        train(resume=folder, progress=False)


def content_of(path: Path) -> Any:
    """All that a state or a checkpoint says."""
    if path.name == runs.STATE_NAME:
        state = runs.load_state(path)
        tensors, words = state.tensors, (state.counters, state.games)
    else:
        tensors, words = read_checkpoint(path)  # type: ignore[assignment]
    return words, {name: (a.dtype, a.shape, a.tobytes()) for name, a in tensors.items()}


@pytest.mark.parametrize("name", [runs.STATE_NAME, runs.CHECKPOINT_NAME])
def test_a_flipped_bit_is_noticed(whole, tmp_path, name):
    """Two thousand of all bits: the file is refused, or says exactly what it said before."""
    content = (whole / name).read_bytes()
    path = tmp_path / name
    before = content_of(whole / name)
    rng = random.Random(7)
    header = 8 + int.from_bytes(content[:8], "little")
    places = [rng.randrange(8 * header) for _ in range(1000)]
    places += [rng.randrange(8 * len(content)) for _ in range(1000)]
    refused = 0
    for place in places:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            after = content_of(path)
        except CheckpointError:
            refused += 1
        else:
            assert after == before, place
    assert refused > 1900
