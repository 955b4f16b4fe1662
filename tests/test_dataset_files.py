"""The files of a dataset: their content, and how making them is resumed."""

import contextlib
import dataclasses
import errno
import json
import os
import pickle
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import HeartsEnv
from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import parse_records
from hearts_env.solve import solve_double_dummy
from hearts_env.support.progress import silent
from tests.players import write_player
from tests.test_cli import run

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
minari = pytest.importorskip("minari")

import pyarrow.parquet as pq  # noqa: E402
from minari.dataset._storages.hdf5_storage import HDF5Storage  # noqa: E402

from hearts_train.data import folder as making  # noqa: E402
from hearts_train.data.folder import make_dataset, unfinished_options  # noqa: E402
from hearts_train.data.options import DatasetOptions  # noqa: E402
from hearts_train.data.playing import FEWEST_GAMES, Seating  # noqa: E402
from hearts_train.store import Store, sealed  # noqa: E402
from tests.refusals import mistake, raises_hearts_error  # noqa: E402
from tests.slow import quick_cases  # noqa: E402

GAMES = FEWEST_GAMES + 10  # two parts
ASKED = DatasetOptions(["random"], "mini", GAMES)


def rows(folder, name):
    return pq.read_table(folder / name).to_pylist()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a dataset of `mini`."""
    return make_dataset(tmp_path_factory.mktemp("made") / "mini", ASKED)


def test_games_are_hand_histories_with_their_results(made):
    games = rows(made.folder, "games")
    assert [game["game"] for game in games] == list(range(GAMES))
    for game in games:
        (record,) = parse_records(game["text"])
        again = record.game
        dealt = Game.deal("mini", seed=game["seed"])
        assert again.hand(0) == () == again.hand(1)
        assert dealt.to_text().split("[Deal ")[1].strip() in game["text"]
        assert again.scores() == game["scores"]
        assert again.margins() == game["margins"]
        assert record.tags["Player 1"] == "random"
        assert game["players"] == ["random"] * 2
        assert game["decisions"] == len(again.history)
        assert game["shooter"] == (-1 if again.shooter is None else again.shooter)


def test_decisions_hold_views_and_card_values(made):
    decisions, games = rows(made.folder, "decisions"), rows(made.folder, "games")
    assert len(decisions) == sum(game["decisions"] for game in games) == made.facts["decisions"]
    game, number = None, -1
    for row in decisions:
        if row["game"] != number:
            number = row["game"]
            game = Game.deal("mini", seed=games[number]["seed"])
        view, legal = game.view(game.current_player), game.legal_actions()
        assert (row["seat"], row["phase"], row["trick"]) == (
            game.current_player,
            "play",
            game.trick_number,
        )
        assert row["view_text"] == view.to_text()
        assert row["legal_actions"] == legal
        assert row["legal"] == [game.rules.deck[action] for action in legal]
        assert row["card"] == game.rules.deck[row["action"]]
        assert row["margin"] == games[number]["margins"][row["seat"]]
        if row["step"] > 6:
            assert row["seen_values"] == [*solve_double_dummy(game).values.values()]
            assert len(row["mean_values"]) == len(legal)
        game.play(row["action"])


def test_every_dataset_field_is_described(made):
    sheet = (made.folder / "README.md").read_text()
    for name in ("games", "decisions"):
        for field in pq.read_schema(made.folder / name / "part-00000.parquet"):
            reported = field.metadata[b"description"].decode()
            assert reported in sheet
            assert f"`{field.name}`" in sheet
        found = pq.ParquetFile(made.folder / name / "part-00000.parquet").metadata
        assert found.row_group(0).column(0).compression == "ZSTD"
    assert "license: mit" in sheet


def test_minari_reads_the_episodes(made, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(made.folder / "minari"))
    found = minari.load_dataset("hearts/mini/random-v0")
    games, decisions = rows(made.folder, "games"), rows(made.folder, "decisions")
    assert found.total_episodes == 2 * GAMES
    assert found.total_steps == len(decisions)
    about = list(found.storage.get_episode_metadata(range(found.total_episodes)))
    for episode, facts in zip(found, about, strict=True):
        mine = [d for d in decisions if (d["game"], d["seat"]) == (facts["game"], facts["seat"])]
        assert episode.actions.tolist() == [d["action"] for d in mine]
        assert episode.rewards.tolist() == [d["reward"] for d in mine]
        assert facts["deal"] == games[facts["game"]]["text"]
        assert facts["seed"] == games[facts["game"]]["seed"]
        assert episode.observations.shape == (len(mine) + 1, *found.observation_space.shape)
        assert found.observation_space.contains(episode.observations[0])
        masks = episode.infos["action_mask"]
        assert [np.flatnonzero(mask).tolist() for mask in masks[:-1]] == [
            d["legal_actions"] for d in mine
        ]
        assert episode.terminations.tolist() == [False] * (len(mine) - 1) + [True]
        assert not episode.truncations.any()
    env = found.recover_environment()
    assert env.observation_space == found.observation_space
    assert env.unwrapped.rules == Rules.make("mini")


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_minari_collects_episodes_with_infos(episode, tmp_path, monkeypatch):
    """Minari needs infos of the same keys, shapes and types at every step."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    inner = HeartsEnv("micro", episode=episode, max_deals=2 if episode == "match" else None)
    env = minari.DataCollector(inner, record_infos=True)
    results = []
    for seed in range(3):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            over = terminated or truncated
        results.append(info)
    made = env.create_dataset("hearts/collected-v0", algorithm_name="lowest", author="test")
    assert made.total_episodes == 3
    for one, last in zip(made, results, strict=True):
        assert one.infos.keys() == last.keys()
        for key, values in one.infos.items():
            assert len(values) == len(one.actions) + 1
            assert np.array_equal(values[-1], last[key])


def test_dataset_of_one_format_has_no_other_files(tmp_path):
    asked = DatasetOptions(["random", "easy"], "micro", 3, formats=["minari"], observation="text")
    made = make_dataset(tmp_path / "d", asked)
    found = minari.MinariDataset(made.episodes)
    assert len(found) == 6
    assert found[0].observations.dtype == np.uint8
    assert not (made.folder / "games").exists()
    assert "## Table" not in (made.folder / "README.md").read_text()
    env = found.recover_environment()
    assert env.observation_space == found.observation_space
    assert env.reset(seed=1)[0].dtype == np.uint8


def flipped(path):
    """Flip a bit of a file."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def cut_short(path):
    """Cut off the end of a file."""
    path.write_bytes(path.read_bytes()[:-5])


def unlinked(path):
    """Delete a file."""
    path.unlink()


STOPS = {
    "playing": (("playing", 1), None, "", [1]),
    "episodes": (("writing", 2), flipped, ".unfinished/part-00000.npz", [0]),
    "table": (("writing", 2), flipped, "decisions/part-00001.parquet", [1]),
    "missing": (("writing", 1), unlinked, "games/part-00000.parquet", [0]),
    "record": (("writing", 1), cut_short, ".unfinished/parts.jsonl", [1]),
}
"""Where a dataset is stopped, the damage to a file, and the parts that are played again."""


@quick_cases("name", list(STOPS), ["playing", "episodes"])
def test_interrupted_dataset_plays_only_missing_parts_again(made, tmp_path, name, monkeypatch):
    stop, damage, damaged, again = STOPS[name]
    path, played, play = tmp_path / "d", [], making.play_part
    monkeypatch.setattr(
        making, "play_part", lambda seating, n: [played.append(n), play(seating, n)][1]
    )

    @contextlib.contextmanager
    def show(doing):
        def tell(done, _total):
            if (doing, done) == stop:
                raise KeyboardInterrupt

        yield tell

    (path / ".unfinished").mkdir(parents=True)  # left by a process killed at its first moment
    with pytest.raises(KeyboardInterrupt):
        make_dataset(path, ASKED, show=show)
    assert not (path / "dataset.json").exists()
    with raises_hearts_error(HeartsError, "folder", "--resume"):
        make_dataset(path, ASKED)
    for other in ({"seed": 1}, {"agents": ["easy"]}):
        with raises_hearts_error(HeartsError, "resume", *other):
            make_dataset(path, dataclasses.replace(ASKED, **other), resume=True)
    if damage is not None:
        damage(path / damaged)
    assert unfinished_options(path) == ASKED
    played.clear()
    assert make_dataset(path, ASKED, resume=True).facts == made.facts
    assert played == again
    assert not (path / ".unfinished").exists()
    with raises_hearts_error(HeartsError, "resume"):
        make_dataset(path, ASKED, resume=True)


FORGED = {
    "games": lambda entry: entry["counts"].update(games=10**400),
    "moons": lambda entry: entry["counts"].update(moons=entry["counts"]["moons"] + 5),
    "scores": lambda entry: entry["counts"].update(scores=[1, 2, 3]),
    "text": lambda entry: entry["counts"].update(decisions="many"),
    "no counts": lambda entry: entry.pop("counts"),
    "no part": lambda entry: entry.pop("part"),
    "list": lambda entry: entry.update(part=[0]),
    "truth": lambda entry: entry.update(part=False),
    "negative": lambda entry: entry.update(part=-1),
    "large": lambda entry: entry.update(part=10**400),
    "no files": lambda entry: entry.update(files={}),
    "outside": lambda entry: entry["files"].update({"../../x": None}),
    "odd files": lambda entry: entry.update(files=7),
}
"""Changes of the record of a part."""


def with_record(path, change):
    """Change the first record of an unfinished dataset."""
    header, line, *others = path.read_bytes().splitlines(keepends=True)
    entry = json.loads(line)["entry"]
    change(entry)
    path.write_bytes(header + sealed(entry) + b"".join(others))


@quick_cases("name", list(FORGED), ["moons", "no part", "no files"])
def test_part_with_forged_record_is_played_again(made, tmp_path, name, monkeypatch):
    folder, played, play = unfinished(tmp_path / "d"), [], making.play_part
    monkeypatch.setattr(
        making, "play_part", lambda seating, n: [played.append(n), play(seating, n)][1]
    )
    with_record(folder / making.UNFINISHED / making.PARTS, FORGED[name])
    assert make_dataset(folder, ASKED, resume=True).facts == made.facts
    assert played == [0]


def stored(**changes):
    """Return a change of arrays to these ones."""
    return lambda arrays: arrays | changes


ODD_ARRAYS = {
    "text": stored(scores=np.array(["a"])),
    "more seats": lambda arrays: arrays | {"scores": np.repeat(arrays["scores"], 2, 1)},
    "fewer": lambda arrays: arrays | {"seeds": arrays["seeds"][1:]},
    "negative": lambda arrays: arrays | {"lengths": arrays["lengths"] * -1},
    "other": stored(more=np.zeros(3)),
    "missing": lambda arrays: {name: arrays[name] for name in list(arrays)[1:]},
    "floats": lambda arrays: arrays | {"actions": arrays["actions"] * 0.5},
    "objects": stored(texts=np.array([None] * 64)),
}


@quick_cases("name", list(ODD_ARRAYS), ["more seats", "objects"])
def test_part_with_forged_arrays_is_played_again(made, tmp_path, name):
    folder = unfinished(tmp_path / "d")
    path = folder / making._names(0)[-1]
    with np.load(path) as arrays:
        changed = ODD_ARRAYS[name](dict(arrays))
    np.savez(path, **changed)
    records = folder / making.UNFINISHED / making.PARTS
    with_record(
        records,
        lambda entry: entry["files"].update({making._names(0)[-1]: making._described(path)}),
    )
    assert make_dataset(folder, ASKED, resume=True).facts == made.facts


@pytest.mark.parametrize(
    ("changed", "argument"),
    [({"agents": 7}, "agents"), ({"formats": None}, "formats"), ({"more": 1}, "resume")],
)
def test_forged_settings_of_a_dataset_are_refused(tmp_path, changed, argument):
    folder = tmp_path / "d"
    (folder / making.UNFINISHED).mkdir(parents=True)
    settings = ASKED.to_json() | {"players": [None, None]} | changed
    Store.create(folder / making.UNFINISHED / making.PARTS, making._KIND, settings)
    mistake(run("dataset", folder, "--resume"), argument)


@pytest.mark.parametrize("formats", [["minari"], ["parquet", "minari"]])
def test_part_without_all_its_games_is_played_again(tmp_path, formats):
    asked = dataclasses.replace(ASKED, formats=formats)
    folder = unfinished(tmp_path / "d", asked)
    path = folder / making._names(1)[-1]
    with np.load(path) as arrays:
        kept = dict(arrays)
    kept["lengths"] = kept["lengths"][:4]  # two games
    steps = kept["lengths"].sum()
    sizes = {"observations": steps + 4, "masks": steps + 4, "tricks": steps + 4}
    sizes |= {"actions": steps, "rewards": steps, "lengths": 4}
    np.savez(path, **{name: array[: sizes.get(name, 2)] for name, array in kept.items()})
    about = {making._names(1)[-1]: making._described(path)}
    few = making.Episodes.from_bytes(path.read_bytes(), asked).counts
    records = folder / making.UNFINISHED / making.PARTS
    header, first, line = records.read_bytes().splitlines(keepends=True)
    entry = json.loads(line)["entry"]
    entry["files"] |= about
    if formats == ["minari"]:
        entry["counts"] = few
    records.write_bytes(header + first + sealed(entry))
    assert few["games"] == 2
    assert make_dataset(folder, asked, resume=True).facts["games"] == GAMES


def test_compressed_arrays_are_refused(tmp_path):
    arrays = making.play_part(Seating(ASKED), 1)[0][making._names(1)[-1]]
    (tmp_path / "one.npz").write_bytes(arrays)
    assert making.Episodes.from_bytes(arrays, ASKED).counts["games"] == 10
    with np.load(tmp_path / "one.npz") as found:
        np.savez_compressed(tmp_path / "two.npz", **found)
    with pytest.raises(ValueError):
        making.Episodes.from_bytes((tmp_path / "two.npz").read_bytes(), ASKED)


def test_part_played_in_another_process_is_the_same(made):
    here = Seating(ASKED)
    assert making.play_part(pickle.loads(pickle.dumps(here)), 1) == making.play_part(here, 1)
    here.participants[0].digest = "0" * 64
    with raises_hearts_error(HeartsError, "agent"):
        pickle.loads(pickle.dumps(here))


def test_games_of_more_players_have_no_exact_values(tmp_path):
    asked = DatasetOptions(["random"], "classic", 2, formats=["parquet"])
    made = make_dataset(tmp_path / "d", asked)
    names = pq.read_schema(made.folder / "decisions" / "part-00000.parquet").names
    assert "mean_values" not in names
    assert "no exact values" in (made.folder / "README.md").read_text()
    decisions = rows(made.folder, "decisions")
    assert {row["phase"] for row in decisions} >= {"pass", "play"}
    assert len(decisions) == 2 * 4 * (13 + 3)


# ---- the command ---------------------------------------------------------------------------------
def test_dataset_command_makes_a_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--agent", "easy", "--agent", "random", "--deals", 3, "--rules", "micro"]
    words += ["--set", "exact=false", "--set", "reward=trick", "--set", "format=parquet"]
    result = run("dataset", "d", *words, "--json")
    assert result.exit_code == 0, result.stderr
    reported = json.loads(result.stdout)
    assert reported["games"] == 3
    assert reported["options"]["agents"] == ["easy", "random"]
    kept = [reported["options"][name] for name in ("exact", "reward", "formats")]
    assert kept == [False, "trick", ["parquet"]]
    assert json.loads((tmp_path / "d" / "dataset.json").read_text()).items() <= reported.items()
    assert run("dataset", tmp_path / "again", *words, "--workers", 2).exit_code == 0
    for path in ("dataset.json", "README.md", "games/part-00000.parquet"):
        assert (tmp_path / "d" / path).read_bytes() == (tmp_path / "again" / path).read_bytes()
    mistake(run("dataset", tmp_path / "d", *words), "folder")
    mistake(run("dataset", tmp_path / "d", "--resume"), "resume")


def test_dataset_of_checkpoint_uses_its_rules(tmp_path):
    write_player(tmp_path / "own.safetensors", "mini")
    words = ["--agent", tmp_path / "own.safetensors", "--deals", 1, "--set", "format=parquet"]
    result = run("dataset", tmp_path / "d", *words, "--json")
    assert json.loads(result.stdout)["options"]["rules"] == "mini"
    assert len(json.loads(result.stdout)["players"][0]) == 64  # the digest of the checkpoint


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["d"], "--agent"),
        (["d", "--agent", "pro", "--set", "format=,"], "--set"),
        (["d", "--agent", "pro", "--set", "colour=red"], "--set 'colour=red'"),
        (["d", "--agent", "pro", "--set", "exact=maybe"], "--set exact 'maybe'"),
        (["d", "--resume", "--deals", "5"], "--deals --resume"),
        (["full", "--agent", "pro"], "folder"),
    ],
)
def test_dataset_mistake_is_one_line(tmp_path, monkeypatch, words, reported):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").touch()
    mistake(run("dataset", *words), *reported.split())
    assert not (tmp_path / "d").exists()


def test_dataset_stopped_before_first_file_restarts(tmp_path):
    (tmp_path / "d" / ".unfinished").mkdir(parents=True)  # the disk was full
    done = run("dataset", tmp_path / "d", "--resume")
    mistake(done, "resume", "without resume (--resume)")
    words = ("--agent", "easy", "--rules", "micro", "--deals", 2, "--set", "format=parquet")
    assert run("dataset", tmp_path / "d", *words).exit_code == 0


def unfinished(folder, asked=ASKED):
    """Play all parts of a dataset, and stop before its other files are written."""

    def show(doing):
        if doing == "writing":
            raise KeyboardInterrupt
        return silent(doing)

    with pytest.raises(KeyboardInterrupt):
        make_dataset(folder, asked, show=show)
    return folder


def test_resumed_dataset_writes_through_no_link(tmp_path):
    asked = DatasetOptions(["random"], "micro", 4, formats=["parquet"])
    folder = unfinished(tmp_path / "d", asked)
    (tmp_path / "outside").mkdir()
    names = (
        "README.md",
        "dataset.json",
        "games/part-00000.parquet",
        ".unfinished/.parts.jsonl.lock",
    )
    targets = []
    for path in (folder / name for name in names):
        targets.append(tmp_path / "outside" / path.name)
        targets[-1].write_bytes(b"mine")
        path.unlink(missing_ok=True)
        path.symlink_to(targets[-1])
    (folder / "secret").symlink_to(targets[0])
    made = make_dataset(folder, asked, resume=True)
    assert [target.read_bytes() for target in targets] == [b"mine"] * 4
    assert not any((folder / name).is_symlink() for name in names)
    assert list(made.facts["files"]) == [
        "README.md",
        "decisions/part-00000.parquet",
        "games/part-00000.parquet",
    ]


@pytest.mark.parametrize(
    "name", ["games", "decisions", "minari", ".unfinished", ".unfinished/parts.jsonl"]
)
def test_dataset_folders_and_records_are_no_links(tmp_path, name):
    asked = DatasetOptions(["random"], "micro", 4, formats=["parquet"])
    folder = unfinished(tmp_path / "d", asked)
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" / Path(name).name
    shutil.move(folder / name, target) if (folder / name).exists() else target.mkdir()
    (folder / name).symlink_to(target)
    before = {path: path.is_dir() or path.read_bytes() for path in target.parent.rglob("*")}
    mistake(run("dataset", folder, "--resume"), "folder", name, "link")
    assert before == {path: path.is_dir() or path.read_bytes() for path in target.parent.rglob("*")}


def test_dataset_on_full_disk_prints_how_to_resume(tmp_path, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device", "part")

    monkeypatch.setattr(making, "_write_part", full)
    words = ("--agent", "easy", "--rules", "micro", "--deals", 2, "--set", "format=parquet")
    done = run("dataset", tmp_path / "d", *words)
    how, why = done.stderr.splitlines()[-2:]
    assert f"hearts dataset {tmp_path / 'd'} --resume" in how
    assert why.startswith("error: part: No space left on device; make room")
    assert done.exit_code == 2


@pytest.mark.parametrize("way", ["limit", "no room", "no reservation", "broken disk"])
def test_episodes_on_full_disk_are_one_error(made, tmp_path, monkeypatch, way):
    resource = pytest.importorskip("resource")
    folder, before = unfinished(tmp_path / "d"), resource.getrlimit(resource.RLIMIT_FSIZE)

    def fails(*_arguments, **_options):
        if way == "broken disk":
            raise RuntimeError("Can't decrement id ref count\n(file write failed, errno = 5)")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        match way:
            case "no room":
                patch.setattr(os, "posix_fallocate", fails)
            case "no reservation":
                patch.delattr(os, "posix_fallocate")
                patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 0))
            case "broken disk":
                patch.setattr(HDF5Storage, "update_episodes", fails)
            case "limit":
                resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
        try:
            done = run("dataset", folder, "--resume")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.exit_code == 2
    how, why = done.stderr.splitlines()
    assert how.endswith("--resume")
    assert str(folder / "minari") in why
    assert make_dataset(folder, ASKED, resume=True).facts == made.facts


def test_dataset_names_the_missing_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in [name for name in sys.modules if name.startswith("hearts_train.data.")]:
        monkeypatch.delitem(sys.modules, name)
    mistake(run("dataset", tmp_path / "d", "--agent", "pro"), "", "[dataset]")


# ---- docs/datasets.md ----------------------------------------------------------------------------
PAGE = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python no-run\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def two_player(tmp_path_factory):
    """Return the dataset that the page reads, but smaller."""
    asked = DatasetOptions(["pro"], "two_player", 5)
    return make_dataset(tmp_path_factory.mktemp("page") / "pro-games", asked).folder.parent


@pytest.mark.slow
@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.split()[1])
def test_dataset_page_code_runs(code, two_player, tmp_path, monkeypatch, capsys):
    for name in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(name)
    monkeypatch.chdir(two_player)
    if "make_dataset" in code:  # as written, but smaller
        monkeypatch.chdir(tmp_path)
        code = code.replace("games=1000", "games=2").replace(", workers=2", "")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    exec(compile(code, "docs/datasets.md", "exec"), {})
    assert capsys.readouterr().out
