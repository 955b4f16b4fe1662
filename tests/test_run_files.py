"""The files of a training run: failing disks, failing calls, damaged and foreign content."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.user_code import TRUST
from hearts_env import CheckpointError, HeartsError
from hearts_train.learn import log, runs
from hearts_train.learn.config import ConfigError, Named, TrainConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.report import format_card
from hearts_train.learn.training import evaluate_run, train
from tests.refusals import mistake, raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run
from tests.training_runs import assert_same_history, recipe
from tests.training_runs import quick as quick
from tests.training_runs import whole as whole


# ---- folders -------------------------------------------------------------------------------------
def test_run_without_folder_gets_the_next_number(tmp_path, monkeypatch, quick):
    monkeypatch.chdir(tmp_path)
    config = recipe("budget.decisions=1")
    for number in (1, 2):
        assert train(config, progress=False).run_dir == Path("runs") / f"{config.name}-{number}"
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "runs").symlink_to(tmp_path / "gone")
    with raises_hearts_error(ConfigError, "run", "runs"):
        train(config, progress=False)


EVIL = "from pathlib import Path\nPath('imported').touch()\nclass Evil:\n    pass\n"


@pytest.fixture
def sent(whole, tmp_path, monkeypatch) -> Path:
    """Someone else's run folder, which names the code in ``evil.py``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TRUST, "0")  # also restored when a command has set it
    for name in ("evil.py", "evil.zip", "evil.pt"):
        (tmp_path / name).write_text(EVIL)
    folder = shutil.copytree(whole, tmp_path / "run")
    config = load_config(folder / runs.CONFIG_NAME, ["evaluation.opponents=['evil.py:Evil']"])
    (folder / runs.CONFIG_NAME).write_text(config.to_yaml())
    return folder


def places(hint: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the place and the kind of every setting that takes any text, by its type."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        for name, field in hint.model_fields.items():
            yield from places(field.rebuild_annotation(), f"{place}.{name}".lstrip("."))
    elif hint is str:
        yield place, None
    elif get_origin(hint) is Annotated and get_args(hint)[0] is str:
        kinds = [part for part in get_args(hint)[1:] if isinstance(part, Named)]
        yield place, kinds[0] if kinds else None
    elif get_origin(hint) is not Literal:
        for part in get_args(hint):
            yield from places(part, place)


TEXTS = dict(places(TrainConfig))


def test_every_text_of_a_config_has_a_kind():
    """Of a new one, decide whether it names something that may be code."""
    assert TEXTS == {
        "name": None,
        "env.rules": None,
        "env.observation": Named.ENCODER,
        "env.seat": None,
        "network.module": Named.MODULE,
        "network.start": Named.AGENT,
        "ppo.magnet": Named.AGENT,
        "opponents": Named.AGENT,
        "evaluation.opponents": Named.AGENT,
    }


def config_with(place: str, name: str) -> TrainConfig:
    """Return a config that has a name at a place, as text, in a list or as a key."""
    for value in (name, [name], {name: 1.0}):
        with contextlib.suppress(ConfigError):
            return recipe(f"{place}={json.dumps(value)}")
    raise AssertionError(place)


NAMES = ("evil.py:Evil", "evil:Evil", "exec:python evil.py", "evil.zip", "evil.pt")
CODE = [(place, name) for place, kind in TEXTS.items() if kind for name in NAMES]
CODE = [(p, n) for p, n in CODE if TEXTS[p] is Named.AGENT or n in NAMES[:2]]
CODE += [
    ("evaluation.opponents", "pimc_belief?model=evil.py:Evil"),
    ("evaluation.opponents", "evil.zip?encoder=flat"),
]
QUICK = [(place, name) for place, name in CODE if name == NAMES[0]] + CODE[-1:]


@quick_cases(("place", "name"), CODE, QUICK)
def test_no_way_to_use_a_folder_runs_its_code(sent, place, name, quick):
    config = config_with(place, name)
    assert name in config.named(TEXTS[place])
    for file in ("config.yaml", "mine.yaml"):
        (sent / file).write_text(config.to_yaml())
    seeds = shutil.copytree(sent, sent.parent / "seeds" / "seed-0").parent
    alone = sent.parent / "alone.yaml"  # not in a run's folder
    shutil.copy(sent / "config.yaml", alone)
    for words in (
        [alone],
        [alone, "--seeds", "0"],
        [alone, "--resume", sent],
        [sent / "config.yaml"],
        [sent / "mine.yaml"],
        ["--resume", sent],
        ["--resume", sent, "--set", "budget.decisions=2000"],
        [sent / "config.yaml", "--seeds", "0,1"],
        [seeds / "seed-0" / "mine.yaml", "--seeds", "0", "--run", seeds],
    ):
        result = run("train", *words)
        assert result.exit_code == 2, words
        (line,) = result.stderr.splitlines()
        assert "--allow-code" in line, words
        assert repr(name) in line, words
    for use in (lambda: train(resume=sent, progress=False), lambda: load_config(alone)):
        with raises_hearts_error(HeartsError, "config", repr(name), hint="allow_code()"):
            use()
    run("train", "smoke", "--seeds", "0", "--run", seeds)  # other settings
    run("runs", sent)
    run("evaluate", sent, "--opponents", "easy", "--deals", "2")
    assert not Path("imported").exists()


def test_permission_or_override_lets_code_run(sent, quick, monkeypatch):
    Path("mine.yaml").write_text((sent / runs.CONFIG_NAME).read_text())
    typed = ["--set", "evaluation.opponents=['evil.py:Evil']"]
    ways = (
        ["mine.yaml", "--allow-code"],
        ["--resume", sent, "--allow-code"],
        ["mine.yaml", *typed],
        ["--resume", sent, *typed],
        ["smoke", "--run", "new", "--set", "evaluation={opponents: ['evil.py:Evil']}"],
    )
    for number, words in enumerate(ways):
        monkeypatch.setenv(TRUST, "0")
        os.utime("evil.py", (number, number))  # a file that has not changed is imported once
        result = run("train", *words)
        assert result.exit_code == 2  # its class cannot play
        assert Path("imported").exists()
        Path("imported").unlink()
    monkeypatch.setenv(TRUST, "0")
    changed = load_config(sent / runs.CONFIG_NAME, ["evaluation.opponents=[standard]"])
    assert "evil.py:Evil" not in changed.agents
    more = load_config("smoke", {"opponents": {"self": 1, "evil.py:Evil": 1}})
    assert "evil.py:Evil" in more.agents
    assert not Path("imported").exists()


def test_model_card_names_training_and_margins(whole):
    _, meta = read_checkpoint(whole)
    config = meta.training["config"] | {
        "opponents": {"self": 1.0, "easy": 0.5},
        "pretraining": {"positions": 5000, "target": "action"},
        "ppo": {"magnet_coef": 0.5, "magnet": "champion"},
    }
    training = meta.training | {"config": config, "exploitability": {}}
    row = {"opponent": "pro", "margin": 1.0, "ci95": (0.5, 1.5), "deals": 100, "seed": 1}
    card = format_card(replace(meta, training=training), [row])
    for text in ("720 decisions", "5,000 positions", "`champion`", "- easy (weight 0.5)", "`self`"):
        assert text in card
    assert "| pro | +1.00 | +0.50 to +1.50 | 100 | 1 |" in card
    assert "- easy (weight 1)" in (whole / runs.CARD_NAME).read_text()


# ---- disks that fail -----------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("fails", [range(3, 6), range(1, 11)], ids=["some", "also the last"])
def test_failed_save_is_retried_and_the_last_raises(
    whole, tmp_path, monkeypatch, quick, capsys, fails
):
    save = runs.save_state

    def full(path: Path, state: runs.State) -> None:
        if state.counters.updates in fails:
            raise OSError(28, "No space left on device", str(path))
        save(path, state)

    folder = tmp_path / "run"
    config = recipe("checkpoint.every_seconds=0.0001")
    monkeypatch.setattr(runs, "save_state", full)
    if 10 in fails:
        with raises_hearts_error(CheckpointError, "run", "--resume"):
            train(config, folder)
        monkeypatch.setattr(runs, "save_state", save)
        assert train(resume=folder, progress=False).is_finished
    else:
        assert train(config, folder).is_finished
    reported = " ".join(capsys.readouterr().err.split())
    assert reported.count("No space left on device") == len(fails)
    assert_same_history(folder, whole)


def test_log_lines_unwritten_on_full_disk_follow_later(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "_tensorboard", lambda *_: None)
    metrics = log.Metrics(tmp_path, log.Counters())
    full = metrics._file = FullFile(metrics._file, 70)  # type: ignore[assignment]
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


class FullFile:
    """A raw file on a disk that has room for `room` bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        written: int = self.file.write(data[: self.room])
        self.room -= written
        return written

    def close(self) -> None:
        self.file.close()


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    """Return the (step, tag, value) rows that TensorBoard reads from the folder."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    return [
        (event.step, value.tag, value.tensor.float_val[0])
        for path in sorted((folder / log.TENSORBOARD_NAME).iterdir())
        for event in loader.EventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]


def test_tensorboard_files_match_the_log(tmp_path):
    metrics = log.Metrics(tmp_path, log.Counters())
    row = {"updates": 1, "decisions_per_second": 2.5, "seconds": 1.0, "phase": None, "is": True}
    metrics.write("update", 40, row)
    metrics.write("evaluation", 40, {"opponent": "easy", "margin": -0.5})
    metrics.close()
    expected = [
        (40, "update/updates", 1.0),
        (40, "update/decisions_per_second", 2.5),
        (40, "update/seconds", 1.0),
        (40, "evaluation/easy/margin", -0.5),
    ]
    assert scalars(tmp_path) == expected
    with (tmp_path / runs.METRICS_NAME).open("a") as file:  # as in someone else's folder
        odd = row | {"kind": "update", "decisions": 40, "x": 10**400, "opponent": "\ud800"}
        file.write(json.dumps(odd) + "\n")
    later = log.Metrics(tmp_path, log.Counters(decisions=40, updates=1))
    later.write("update", 80, {"updates": 2})
    later.close()
    assert scalars(tmp_path)[-1] == (80, "update/updates", 2.0)


def test_tensorboard_has_every_line_after_resuming(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    row = {"updates": 1, "decisions_per_second": 2.5, "seconds": 1.0}
    margin = {"opponent": "easy", "won": 0.5, "ci95": [0.0, 1.0], "deals": 2, "seed": 1}
    counters = log.Counters()
    for number in range(4):  # started, and resumed three times; the last two lines are lost
        metrics = log.Metrics(tmp_path, counters)
        for lost in (False, True):
            counters.decisions += 10
            counters.updates += 1
            metrics.write("update", counters.decisions, row | {"updates": counters.updates})
            found = margin | row | {"margin": number + 0.5, "round": counters.evaluations}
            metrics.write("evaluation", counters.decisions, found | {"updates": counters.updates})
            counters.evaluations += not lost
        counters.decisions -= 10
        counters.updates -= 1
        # A round that ended after the save has the decisions of the save.
        metrics.write("evaluation", counters.decisions, found | {"updates": counters.updates})
        metrics.close()
    log.Metrics(tmp_path, counters).close()
    rows = log.read_metrics(tmp_path)
    events = accumulator.EventAccumulator(str(tmp_path / log.TENSORBOARD_NAME)).Reload()
    for tag, kind in (("update/updates", "update"), ("evaluation/easy/margin", "evaluation")):
        name = tag.rpartition("/")[2]
        logged = [(r["decisions"], r[name]) for r in rows if r["kind"] == kind]
        assert len(logged) == 4
        assert [(event.step, event.value) for event in events.Scalars(tag)] == logged


@pytest.mark.parametrize("when", ["write", "flush"])
def test_unwritable_tensorboard_file_ends_nothing(tmp_path, monkeypatch, when):
    writer = pytest.importorskip("tensorboard.summary.writer.record_writer")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    unhandled: list[object] = []
    hook = unhandled.append
    monkeypatch.setattr(threading, "excepthook", hook)
    metrics = log.Metrics(tmp_path, log.Counters())
    row = {"updates": 1, "decisions_per_second": 1.0, "seconds": 1.0}
    metrics.write("update", 1, row)
    assert metrics._board is not None
    metrics._board.flush()
    monkeypatch.setattr(writer.RecordWriter, when, full)
    for update in (2, 3):
        metrics.write("update", update, row | {"updates": update})
    metrics.close()
    assert [r["updates"] for r in log.read_metrics(tmp_path)] == [1, 2, 3]
    assert unhandled == []
    assert threading.excepthook is hook


# ---- links ---------------------------------------------------------------------------------------
def linked(path: Path, outside: Path) -> Path:
    """Replace a file by a link to a file elsewhere, and return that file."""
    target = outside / path.name
    target.write_bytes(path.read_bytes() if path.exists() else b"mine")
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return target


@pytest.mark.slow
def test_resumed_run_writes_through_no_link(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    few = load_config(folder / runs.CONFIG_NAME, ["evaluation.final_deals=2"])
    (folder / runs.CONFIG_NAME).write_text(few.to_yaml())
    (tmp_path / "outside").mkdir()
    last, *_ = sorted((folder / runs.CHECKPOINTS_NAME).iterdir(), reverse=True)
    later = last.with_name("9" * 12 + ".safetensors")
    names = (runs.CHECKPOINT_NAME, log.METRICS_NAME, runs.EVALUATION_NAME, runs.PICTURE_NAME)
    places = [last, later, *(folder / name for name in (*names, runs.LOCK_NAME))]
    before = {
        target: target.read_bytes() for target in (linked(p, tmp_path / "outside") for p in places)
    }
    (folder / runs.CARD_NAME).unlink()
    (folder / runs.CARD_NAME).symlink_to(tmp_path / "new")
    (folder / runs.CURVE_NAME).unlink()
    os.mkfifo(folder / runs.CURVE_NAME)
    config = load_config(folder / runs.CONFIG_NAME, ["budget.decisions=792"])
    assert train(config, resume=folder, progress=False).is_finished
    with runs.hold_run(folder):
        evaluate_run(folder)
    assert {target: target.read_bytes() for target in before} == before
    assert not (tmp_path / "new").exists()
    for path in (*places[2:-1], folder / runs.CARD_NAME, folder / runs.CURVE_NAME):
        assert stat.S_ISREG(path.lstat().st_mode), path


NEEDED = (runs.CONFIG_NAME, runs.STATE_NAME, runs.CHECKPOINTS_NAME, log.TENSORBOARD_NAME)


@pytest.mark.parametrize("name", NEEDED)
def test_link_that_a_run_needs_is_refused(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "run")
    if (folder / name).exists():
        shutil.move(folder / name, tmp_path / name)
    else:
        (tmp_path / name).mkdir()
    (folder / name).symlink_to(tmp_path / name)
    before = content_of(tmp_path)
    mistake(run("train", "--resume", folder), "run", name, "link")
    assert content_of(tmp_path) == before


def test_written_names_of_a_run_are_complete(whole):
    """A run writes nothing under a name whose links are neither removed nor refused."""
    names = {path.name for path in whole.iterdir()} | {log.TENSORBOARD_NAME, runs.PICTURE_NAME}
    assert names | {runs.EVALUATION_NAME} <= {*runs._WRITTEN, *runs._NEEDED}


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder, by path."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_lock_of_a_run_is_no_link(whole, tmp_path, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "secret").write_text("1 on other: secret\x1b[2J")
    lock = folder / runs.LOCK_NAME
    lock.symlink_to(tmp_path / "secret")
    with runs.hold_run(folder):
        assert not lock.is_symlink()
        assert lock.read_text().startswith(f"{os.getpid()} on ")
    lock.symlink_to(tmp_path / "none")
    with runs.hold_run(folder):
        assert not lock.is_symlink()
    os.mkfifo(lock)
    with runs.hold_run(folder):
        assert lock.is_file()
    lock.write_text((tmp_path / "secret").read_text())  # a true lock, of another machine
    with (
        pytest.raises(CheckpointError, match="process 1 on other") as caught,
        runs.hold_run(folder),
    ):
        pass
    assert "\x1b" not in str(caught.value)
    assert (tmp_path / "secret").read_text() == "1 on other: secret\x1b[2J"


def test_final_evaluation_that_cannot_be_read_is_none(tmp_path):
    path = tmp_path / runs.EVALUATION_NAME
    os.mkfifo(path)
    assert runs.final_evaluation(tmp_path) == []
    path.unlink()
    path.symlink_to("/dev/zero")
    assert runs.final_evaluation(tmp_path) == []
    path.unlink()
    path.write_text("[" * 100_000)
    assert runs.final_evaluation(tmp_path) == []


# ---- damaged files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [runs.CONFIG_NAME, runs.STATE_NAME])
@pytest.mark.parametrize("way", ["cut", "folder", "dead link"])
def test_damaged_run_file_is_refused(whole, tmp_path, name, way):
    folder = shutil.copytree(whole, tmp_path / "run")
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    if way == "cut":
        (folder / name).write_bytes(content[:9])
    elif way == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(folder / "nowhere")
    with pytest.raises(HeartsError):
        train(resume=folder, progress=False)


ODD_LINES = [
    b"\xff\xfe", b"[]", b"{}", b'{"kind": 7}', b'{"kind": "evaluation", "decisions": 0}',
    b'{"kind": "evaluation", "decisions": 1, "updates": 0, "round": 0, "deals": 2, "seed": 1, '
    b'"opponent": "easy", "margin": 0, "won": 0.5, "seconds": 1, "ci95": [0, null]}',
]  # fmt: skip


def test_invalid_log_lines_are_skipped(whole, tmp_path, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    log = (folder / runs.METRICS_NAME).read_bytes()
    lines = log.splitlines(keepends=True)
    mixed = b"".join(line + odd + b"\n" for line, odd in zip(lines, ODD_LINES * 9, strict=False))
    (folder / runs.METRICS_NAME).write_bytes(mixed + b"\xff\xfe")
    assert train(resume=folder, progress=False).is_finished
    assert (folder / runs.METRICS_NAME).read_bytes() == log


def test_resuming_an_unusable_folder_raises(whole, tmp_path):
    with raises_hearts_error(CheckpointError, "resume"):
        train(resume=tmp_path / "missing", progress=False)
    with raises_hearts_error(CheckpointError, "resume", runs.CONFIG_NAME):
        train(resume=tmp_path, progress=False)
    folder = shutil.copytree(whole, tmp_path / "run")
    (folder / runs.STATE_NAME).unlink()
    with raises_hearts_error(CheckpointError, "resume"):
        train(resume=folder, progress=False)
    shutil.copy(whole / runs.CHECKPOINT_NAME, folder / runs.STATE_NAME)
    with raises_hearts_error(CheckpointError, "resume"):
        train(resume=folder, progress=False)
    shutil.copy(whole / runs.STATE_NAME, folder / runs.STATE_NAME)
    for override in (
        "env.rules=micro",
        "network.policy=[16]",
        "env.observation=recall",
        "seed=9",
        "algorithm=maskable_ppo",
    ):
        with raises_hearts_error(ConfigError, override.partition("=")[0]):
            train(recipe(override), resume=folder, progress=False)
    (folder / runs.CONFIG_NAME).write_text(recipe("network.policy=[31]").to_yaml())
    with raises_hearts_error(CheckpointError, "resume"):
        train(resume=folder, progress=False)


def test_new_run_refuses_other_files_but_not_leftovers(tmp_path):
    for name in (runs.LOCK_NAME, ".x.1-0123abcd.tmp"):
        (tmp_path / name).write_text("")
    runs.check_is_free(tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    with raises_hearts_error(ConfigError, "run"):
        runs.check_is_free(tmp_path)
    runs.check_is_free(tmp_path / "new")


@pytest.mark.parametrize("value", [5, b"run", ["run"]])
def test_folders_other_than_paths_raise(value):
    for name, more in (("run_dir", {}), ("run_dir", {"seeds": [0]}), ("resume", {})):
        with raises_hearts_error(ConfigError, name, repr(value)):
            train(recipe(), progress=False, **{name: value}, **more)


def test_player_of_the_saved_state_is_kept(tmp_path):
    for decisions in (100, 200, 300):
        path = runs.checkpoint_path(tmp_path, decisions)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    runs.drop_lost_checkpoints(tmp_path, 200)
    kept = sorted((tmp_path / runs.CHECKPOINTS_NAME).iterdir())
    assert kept == [runs.checkpoint_path(tmp_path, decisions) for decisions in (100, 200)]
