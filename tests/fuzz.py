"""Every parser and file reader against damaged texts and files, which hypothesis draws.

An input is a valid sample of which parts are cut out, moved or replaced by hostile constants, or it
is noise. A target must refuse an input with a ``HeartsError`` of one short line, or read it so that
the text or file written of it reads alike. tests/test_fuzz.py draws the inputs.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from typer.testing import CliRunner

from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import parse_records
from hearts_env.rules.presets import GAMES
from hearts_env.rules.rules import FIELDS
from hearts_env.solve import equilibrium, solved_files
from hearts_env.solve.tree import Tree
from hearts_train.cli.app import app
from hearts_train.cli.replay import lines_of, read_records
from hearts_train.learn import runs
from hearts_train.learn.config_files import load_config, shipped_configs
from hearts_train.measure.benchmark import Benchmark, encoded, seal
from hearts_train.measure.comparison import compare
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.exploit import exploit
from hearts_train.measure.tournament import tournament
from hearts_train.store import Store, sealed
from hearts_train.web.table import KIND, Table
from tests.players import random_weights
from tests.strategies import played_on
from tests.web import NAME, message_of, written

Data = str | bytes
Change = Callable[[st.DrawFn, Any, tuple[str, ...]], Data]


@dataclass(frozen=True)
class Target:
    """A parser or reader.

    Attributes:
        name: Its name.
        samples: Valid inputs.
        read: Reads an input, perhaps from a file in a folder. Raises ``HeartsError``, or an
            ``AssertionError`` if reading back gives something else.
        changes: The ways to damage a sample.
        tokens: Hostile constants in addition to those for all.
    """

    name: str
    samples: Callable[[], list[Data]]
    read: Callable[[Data, Path], None]
    changes: tuple[Change, ...]
    tokens: tuple[str, ...] = ()


# ---- inputs --------------------------------------------------------------------------------------
TOKENS = (
    *("", " ", "\t", "\n", "\0", '"', "'", "#", "=", ".", ",", ":", "-", "~", "%", "&a", "*a", "|"),
    *("[", "]", "{", "}", "[" * 50, "{" * 50, "[" * 3000, '{"a":' * 2000, "- " * 300, "((((", "<<"),
    *("0", "-1", "1e6", "1e400", "-0.0", "NaN", ".nan", ".inf", "Infinity", "0x_", "0b_", "0o"),
    *("²", "٣", "1_000", "2026-13-40", "2026-01-01", "1:2:3", str(2**63), str(-(2**63)), "9" * 400),
    *("9" * 5000, "0x" + "f" * 5000, "!!int x", "!!bool x", "!!timestamp today", "!!map [a]"),
    *("!!set [a]", "!!binary é", "!!python/name:os.system", "null", "None", "True", "yes", "on"),
    *("\ud800", "\ufeff", "\u2028", "é", "♠", "10H", "x" * 300, "x" * 20000, "2C", "QS"),
    *("../..", "/"),
    *("%s", "{0}", "{x!r}", "__class__", "\\", "\\u0000", "\x1b[31m", "\x85", "\r"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63, -(2**63), 10**30, 1e15, 1e300, -1e300, 0.5),
    *(float("nan"), float("inf"), "", "x", "x" * 300, "9" * 5000),
    *([], {}, [[]], [0], [1e400], [None], 10**400, [10**400, 0]),
    *({"": None}, {"a": {"b": []}}, [[[[[[[[[[]]]]]]]]]], "2C", "null", "two_player", "\ud800"),
)


@functools.cache
def samples_of(name: str) -> list[Data]:
    """Return the valid inputs of a target."""
    return TARGETS[name].samples()


@st.composite
def damaged(draw: st.DrawFn, target: Target) -> Data:
    """Draw an input of a target: a damaged sample, or noise."""
    sample = draw(st.sampled_from(samples_of(target.name)))
    if draw(st.integers(0, 9)) == 9:
        noise: st.SearchStrategy[Data] = st.text() if isinstance(sample, str) else st.binary()
        return draw(noise)
    change = draw(st.sampled_from(target.changes))
    return change(draw, sample, (*TOKENS, *target.tokens))


def edit(draw: st.DrawFn, pieces: list[Any], constants: st.SearchStrategy[Any]) -> None:
    """Cut out, double or replace some pieces of a sample, in place."""
    for _ in range(draw(st.integers(1, 4))):
        at, other = (draw(st.integers(0, len(pieces))) for _ in range(2))
        size = draw(st.sampled_from((0, 1, 1, 1, 3, 100)))
        kind = draw(st.integers(0, 3))
        new = [] if kind == 0 else pieces[other : other + size] if kind == 1 else [draw(constants)]
        pieces[at : at + size] = new


def words(draw: st.DrawFn, text: str, tokens: tuple[str, ...]) -> str:
    """Damage a text, word by word."""
    pieces = re.findall(r"\w+|\s+|[^\w\s]", text)
    edit(draw, pieces, st.sampled_from(tokens) | st.characters())
    return "".join(pieces)


def octets(draw: st.DrawFn, data: bytes, tokens: tuple[str, ...]) -> bytes:
    """Damage a file, byte by byte."""
    pieces = [data[i : i + 1] for i in range(len(data))]
    numbers = st.sampled_from((0, 1, 2**31 - 1, 2**63, 2**64 - 1, len(data)))
    edit(
        draw,
        pieces,
        st.binary(min_size=1, max_size=8) | numbers.map(lambda n: n.to_bytes(8, "little")),
    )
    return b"".join(pieces)


def values(draw: st.DrawFn, text: str, tokens: tuple[str, ...]) -> str:
    """Replace, move or leave out values of a JSON text."""
    tree = json.loads(text)
    for _ in range(draw(st.integers(1, 4))):
        places = list(places_of(tree))
        if not places:
            return json.dumps(draw(st.sampled_from(VALUES)))
        (owner, key), (other, place) = (
            places[draw(st.integers(0, len(places) - 1))] for _ in range(2)
        )
        kind = draw(st.integers(0, 3))
        new = copy.deepcopy(other[place] if kind == 0 else draw(st.sampled_from(VALUES)))
        if kind == 1:
            del owner[key]
        elif kind == 2 and isinstance(owner, dict):
            owner[draw(st.sampled_from(("", "x", "players", "__class__", "QS", "0")))] = new
        else:
            owner[key] = new
    return json.dumps(tree)


def places_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each list or object of a tree with each of its keys."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from places_of(tree[key])


def header(draw: st.DrawFn, data: bytes, tokens: tuple[str, ...]) -> bytes:
    """Damage the header of a safetensors file, or an entry in it, and correct its length."""
    end = 8 + int.from_bytes(data[:8], "little")
    made = data[8:end].decode()
    if draw(st.booleans()):
        made = words(draw, made, tokens)
    else:
        tree = json.loads(made)
        entries = tree["__metadata__"]
        name = draw(st.sampled_from(sorted(entries)))
        is_json = entries[name].startswith(("{", "["))
        entries[name] = (values if is_json else words)(draw, entries[name], tokens)
        made = json.dumps(tree)
    head = made.encode("utf-8", "replace")
    return len(head).to_bytes(8, "little") + head + data[end:]


def entry(draw: st.DrawFn, data: bytes, tokens: tuple[str, ...]) -> bytes:
    """Damage the entry of a sealed line and seal it again, or move or double a line."""
    lines = data.splitlines(keepends=True)
    at, kind = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, 4))
    if kind == 0:
        lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
    elif kind == 1:
        lines.insert(draw(st.integers(0, len(lines) - 1)), lines[at])
    else:
        changed = json.loads(values(draw, json.dumps(json.loads(lines[at])["entry"]), tokens))
        text = re.sub(r"NaN|-?Infinity", "0", json.dumps(changed, separators=(",", ":")))
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        lines[at] = f'{{"digest":"{digest}","entry":{text}}}\n'.encode()
    return b"".join(lines)


def resealed(draw: st.DrawFn, text: str, tokens: tuple[str, ...]) -> str:
    """Replace, move or leave out values of a result of ``hearts benchmark``, and seal it again."""
    record = json.loads(text)
    changed = values(draw, json.dumps(record["result"]), tokens)
    record["result"] = json.loads(re.sub(r"NaN|-?Infinity", "0", changed))
    return json.dumps(record | {"sha256": seal(record["result"])})


# ---- the targets ---------------------------------------------------------------------------------
def text_of(data: Data) -> str:
    """Return an input as text."""
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def write(data: Data, path: Path) -> Path:
    """Write an input to a file."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return path


def history_samples() -> list[Data]:
    games = [
        played_on(Rules.from_text(text), seed, cards)
        for seed, (text, cards) in enumerate(
            [
                ("micro", 99),
                ("micro", 3),
                ("mini", 99),
                ("two_player", 14),
                ("classic", 20),
                ("party players=3 kitty_to=first_trick hand_size=5", 99),
                ("no_pass", 99),
                ("mini moon=choose moon_points=3 trump=null", 99),
            ]
        )
    ]
    revoked = played_on(Rules.preset("micro"), 5, 2)
    revoked.revoke()
    tags = {"Player 0": "You", "Player 1": "C#-bot", "Date": "2026-11-21", "Mood": ""}
    texts: list[Data] = [game.to_text() for game in [*games, revoked]]
    return [
        *texts,
        games[0].to_text(tags),
        games[0].to_text() + "\n# and one more\n" + games[2].to_text(),
    ]


def read_history(data: Data, folder: Path) -> None:
    for record in parse_records(text_of(data)):
        text = record.to_text()
        (again,) = parse_records(text)
        assert again.game == record.game
        assert again.to_text() == text
        record.game.scores()


def rules_samples() -> list[Data]:
    texts: list[Data] = [Rules.preset(*game).name for game in GAMES]
    whole = Rules.preset("omnibus", 5).to_dict()
    return [
        *texts,
        'party players=5 trump="S" moon=none end_score=7',
        'mini card_points={"QS":13,"AH":-5} removed=["2C","3C"]',
        "party "
        + " ".join(f"{k}={json.dumps(v, separators=(',', ':'))}" for k, v in whole.items()),
    ]


RULES_TOKENS = (
    *FIELDS,
    *(" trump=S", " trump=null", " moon=choose", " moon=none", " kitty_to=first_heart hand_size=5"),
    *(" players=3", " players=7", " pass_count=2 pass_rotation=left", " first_lead=eldest_hand"),
    *(' card_points={"AS":-5,"2H":9}', " no_trick_points=-7", " moon_points=0", " end_score=1"),
    *(' removed=["2D","AH"]', " settlement=howell", " queen_any_time=true", " hand_size=1"),
)


def read_rules(data: Data, folder: Path) -> None:
    check_rules(Rules.from_text(text_of(data)))


def check_rules(rules: Rules) -> None:
    """Check that accepted rules survive a round trip and can be played."""
    assert Rules.from_text(rules.name) == rules
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert 0 < rules.max_margin < math.inf
    game = played_on(rules, 1, 3)
    assert Game.from_text(game.to_text()) == game


def config_samples() -> list[Data]:
    shipped = [config.read_text(encoding="utf-8") for config in shipped_configs().values()]
    return [
        *shipped,
        "# nothing\n",
        "seed: 1\nname: x\nenv: {rules: micro, seat: 1, num_envs: 64}\nbudget: {decisions: 1e3}\n",
        "opponents: {easy: 1, self: 2.5}\n",
        "ppo: &p {num_steps: 4, batch_size: 8}\nenv: {num_envs: 2}\nnetwork: {policy: []}\n",
        "evaluation: {opponents: &a [easy, pro]}\nopponents: {easy: 1}\n",
    ]


def read_config(data: Data, folder: Path) -> None:
    config = load_config(write(data, folder / "config.yaml"))
    again = load_config(write(config.to_yaml(), folder / "again.yaml"))
    assert again == config


def made_by(save: Callable[[Path], object]) -> bytes:
    """Return the bytes that `save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def checkpoint_samples() -> list[Data]:
    rules = Rules.preset("micro")
    made: list[Data] = []
    for hidden in ((), (3, 2)):
        tensors, layers = random_weights(rules, *hidden, seed=0)
        meta = Checkpoint(rules, "flat", layers, "relu", {"name": "x", "decisions": 5})
        made.append(made_by(lambda path, t=tensors, m=meta: save_checkpoint(path, t, m)))
    return made


def read_checkpoint_file(data: Data, folder: Path) -> None:
    found, meta = read_checkpoint(write(data, folder / "player.safetensors"))
    assert all(np.isfinite(array).all() for array in found.values())
    save_checkpoint(folder / "again.safetensors", found, meta)
    again, same = read_checkpoint(folder / "again.safetensors")
    assert same == meta
    assert all(np.array_equal(found[name], again[name]) for name in found)


def state_samples() -> list[Data]:
    counters = runs.Counters(decisions=100, updates=2, seconds=1.5)
    arrays = {
        "policy/policy.0.weight": np.ones((4, 5), np.float32),
        "policy/policy.0.bias": np.zeros(4, np.float32),
        "rng/torch": np.arange(64, dtype=np.uint8),
        "optimizer/0/step": np.float32(3).reshape(()),
    }
    state = runs.State(counters, arrays)
    return [made_by(lambda path: runs.save_state(path, state))]


def read_state(data: Data, folder: Path) -> None:
    state = runs.load_state(write(data, folder / "state.safetensors"))
    runs.save_state(folder / "again.safetensors", state)
    again = runs.load_state(folder / "again.safetensors")
    assert again.counters == state.counters
    assert set(again.tensors) == set(state.tensors)


@functools.lru_cache(maxsize=4)
def small_tree(rules: Rules) -> Tree:
    return Tree(rules, 0.01)


def solved_samples() -> list[Data]:
    solver = equilibrium.Solver(small_tree(Rules.from_text("micro hand_size=2")))
    for _ in range(3):
        solver.step()
        solver.seconds = float(solver.iteration)  # the same on every machine
        solver.look()
    return [made_by(solver.save), made_by(solver.result().save)]


def read_solved(data: Data, folder: Path) -> None:
    path = write(data, folder / "solved.safetensors")
    original = solved_files.Tree
    solved_files.Tree = lambda rules, max_memory, **_: small_tree(rules)
    try:
        found = equilibrium.load(path, 0.01)
        assert -100 < found.value < 100
        assert found.exploitability > -1e-6
        try:
            solver = equilibrium.Solver.load(path, 0.01)
        except HeartsError:
            return
    finally:
        solved_files.Tree = original
    solver.step()


def table_samples() -> list[Data]:
    games = [("micro", 25, False), ("party players=3", 20, False), ("mini", 14, True)]
    with tempfile.TemporaryDirectory() as folder:
        return [written(Path(folder), *game) for game in games]


def read_table(data: Data, folder: Path) -> None:
    """Read a table, and show it to every seat and to an onlooker."""
    path = write(data, folder / f"{NAME}.jsonl")
    table = Table.resume(path)
    for seat in (None, *range(table.rules.players)):
        json.loads(message_of(table, seat))
    settings = Store.open(path, KIND).settings
    assert table.head() | {"seats": []} == settings | {"seats": []}


def benchmark_samples() -> list[Data]:
    return [encoded(Benchmark("easy", "micro", deals=2).run()).decode()]


def read_result(data: Data, folder: Path) -> None:
    """Read a result of ``hearts benchmark``, and print its deals."""
    for number, record in enumerate(read_records(write(data, folder / "result.json")), 1):
        assert "\n".join(lines_of(record, number, number))
        assert parse_records(record.to_text())[0].game == record.game


def work_samples() -> list[Data]:
    easy: Any = ("easy", "standard", "micro", 3, 5)
    attacked: Any = ("standard", "micro", ["best_response"])
    works: tuple[Callable[[Path], object], ...] = (
        lambda path: evaluate(*easy, save=path),
        lambda path: evaluate(*easy, unit="match", save=path),
        lambda path: compare(*easy[:3], deals=64, save=path),
        lambda path: tournament(easy[:2], *easy[2:], save=path),
        lambda path: exploit(*attacked, deals=2, save=path),
    )
    made = [made_by(work) for work in works]
    head, block = made[0].splitlines(keepends=True)
    record = json.loads(block)["entry"]
    record["block"]["faults"] = [1, 0]
    texts = dict.fromkeys(("agent", "role", "kind", "text", "view"), "agent")
    record["block"]["examples"] = [texts | {"seed": 1, "seat": 0}]
    return [*made, head + sealed(record)]


def read_work(data: Data, folder: Path) -> None:
    """Resume the work in a file of ``--save`` by its command."""
    path = write(data, folder / "saved")
    found = re.search(rb'"work":"(\w+)"', path.read_bytes())
    name = found[1].decode() if found else "evaluate"
    name = name if name in ("compare", "tournament", "exploit") else "evaluate"
    done = CliRunner().invoke(app, [name, "--resume", str(path), "--json"])
    if done.exit_code == 2:
        raise HeartsError(done.stderr.strip())
    if done.exception is not None:
        raise done.exception
    json.loads(done.stdout, parse_constant=pytest.fail)


_LIST = [
    Target("histories", history_samples, read_history, (words,)),
    Target("rules", rules_samples, read_rules, (words,), RULES_TOKENS),
    Target("configs", config_samples, read_config, (words,)),
    Target("players", checkpoint_samples, read_checkpoint_file, (octets, header)),
    Target("training states", state_samples, read_state, (octets, header)),
    Target("solved files", solved_samples, read_solved, (octets, header)),
    Target("tables", table_samples, read_table, (octets, entry)),
    Target("results", benchmark_samples, read_result, (words, resealed, resealed)),
    Target("saved work", work_samples, read_work, (octets, entry, entry)),
]
TARGETS = {target.name: target for target in _LIST}
