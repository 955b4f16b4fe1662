"""Every parser and file reader against texts and files that nobody meant.

An input is made from its target's name and a number alone, so that any can be made again. Most
are valid samples with bits flipped, parts cut out, doubled, exchanged or replaced by hostile
constants; some are noise. A target must refuse an input with a ``HeartsError`` of one line that is
not long, or read it so that what it wrote back reads alike. Two seconds of processor time and
some hundred megabytes have to be enough.

tests/test_fuzz.py tries some; a fault is reported with the line that repeats it.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import itertools
import json
import math
import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from hearts_env import Game, HeartsError, Rules, __version__
from hearts_env.cards import ALL_CARDS, parse_card
from hearts_env.game.notation import parse_records
from hearts_env.rules.presets import GAMES
from hearts_env.rules.rules import FIELDS
from hearts_env.solve import equilibrium, solved_files
from hearts_env.solve.tree import Tree
from hearts_env.support.errors import MAX_MESSAGE
from hearts_train.cli.replay import read_records
from hearts_train.learn import runs
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.config_files import load_config, shipped_configs
from hearts_train.measure.contest import RESULTS
from hearts_train.measure.duel import Block
from hearts_train.session.table import KIND, Table
from hearts_train.store import Store, saving, sealed
from hearts_train.web.messages import entry_message
from tests.strategies import played_on
from tests.web import NAME, message_of, written

Data = str | bytes

MOST_SECONDS = 2.0
"""Of processor time, for one input."""
MOST_MESSAGE = MAX_MESSAGE + 100
"""Characters of a refusal, the paths in it not counted."""
MOST_GROWTH = 600
"""Megabytes by which a process may grow over the inputs of a test."""


class TooSlowError(Exception):
    """An input has taken more than ``MOST_SECONDS``."""


@dataclass(frozen=True)
class Target:
    """A parser or reader.

    Attributes:
        name: Its name on the page and in the inputs' seeds.
        samples: Valid inputs.
        read: Reads an input, perhaps from a file in a folder; raises ``HeartsError``, or an
            ``AssertionError`` where reading back gives something else.
        tokens: Hostile constants beside those for all.
        is_json: Whether samples are JSON texts, of which values may be changed.
        change: A way of its own to change a sample, taken now and then.
    """

    name: str
    samples: Callable[[], list[Data]]
    read: Callable[[Data, Path], None]
    tokens: tuple[str, ...] = ()
    is_json: bool = False
    change: Callable[[Any, random.Random], Data] | None = None


# ---- making inputs -------------------------------------------------------------------------------
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
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def make_input(target: Target, number: int) -> Data:
    """Input `number` of a target, the same on every machine."""
    rng = random.Random(f"{target.name}:{number}")
    samples = _samples(target.name)
    sample = rng.choice(samples)
    if rng.random() < 0.1:
        return _noise(sample, rng)
    if target.change is not None and rng.random() < 0.4:
        return target.change(sample, rng)
    if isinstance(sample, str):
        if target.is_json and rng.random() < 0.7:
            return _change_json(sample, rng)
        return _change_text(sample, rng, (*TOKENS, *target.tokens), samples)
    return _change_bytes(sample, rng, samples)


@functools.cache
def _samples(name: str) -> list[Data]:
    return TARGETS[name].samples()


def _noise(sample: Data, rng: random.Random) -> Data:
    length = int(2 ** rng.uniform(0, 10))
    if isinstance(sample, bytes):
        return rng.randbytes(length)
    letters = rng.choice([sample or " ", "".join(map(chr, range(1, 128))), "0[]{}\"':,-\n "])
    text = "".join(rng.choice(letters) for _ in range(length))
    return text if rng.random() < 0.5 else text + chr(rng.randrange(0x11000))


def _change_text(text: str, rng: random.Random, tokens: tuple[str, ...], samples: list[Any]) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        kind = rng.randrange(8)
        if kind < 4:  # a word for another
            words = _WORD.findall(text) or [""]
            at = rng.randrange(len(words))
            word = rng.choice(words) if kind == 0 else rng.choice(tokens)
            words[at : at + rng.randrange(2) if kind == 1 else at + 1] = [word]
            text = "".join(words)
            continue
        if kind == 4:  # a letter for another
            at = rng.randrange(len(text) + 1)
            text = (
                text[:at]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000))))
                + text[at + 1 :]
            )
            continue
        lines = text.splitlines(keepends=True) or [""]
        low, high = sorted((rng.randrange(len(lines)), rng.randrange(len(lines))))
        high = min(high + 1, low + rng.choice((1, 1, 3, 100)))
        if kind == 5:  # lines cut out
            del lines[low:high]
        elif kind == 6:  # lines once more, here or elsewhere
            at = rng.randrange(len(lines) + 1)
            lines[at:at] = lines[low:high] * rng.choice((1, 1, 2, 20))
        else:  # the beginning of one, the end of another
            other = rng.choice(samples)
            text = "".join(lines)
            text = text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]
            continue
        text = "".join(lines)
    return text


def _change_bytes(data: bytes, rng: random.Random, samples: list[Any]) -> bytes:
    kind = rng.randrange(10)
    if kind < 4:
        return _change_header(data, rng)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        at = rng.randrange(len(changed)) if changed else 0
        kind = rng.randrange(8)
        if kind < 3 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            changed[at : at + 1] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80"))
        elif kind == 4:
            size = rng.choice((2, 4, 8))
            value = rng.choice(
                (0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), len(data), 2**31 - 1)
            )
            changed[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
        elif kind == 5:
            del changed[at : at + int(2 ** rng.uniform(0, 12))]
        elif kind == 6:
            changed[at:at] = changed[at : at + int(2 ** rng.uniform(0, 10))]
        else:
            other = rng.choice(samples)
            changed[at:] = other[rng.randrange(len(other)) :]
    return bytes(changed)


def _change_header(data: bytes, rng: random.Random) -> bytes:
    """Another JSON header of a safetensors file, its length put right; or another text."""
    length = int.from_bytes(data[:8], "little")
    if not 0 < length < len(data):
        text = data.decode("utf-8", "replace")
        return _change_text(text, rng, TOKENS, [text]).encode("utf-8", "replace")
    text = data[8 : 8 + length].decode("utf-8", "replace")
    kind = rng.randrange(3)
    if kind:  # an entry of the texts within it
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            header = json.loads(text)
            entries = header["__metadata__"]
            name = rng.choice(sorted(entries))
            entries[name] = (
                _change_json(entries[name], rng)
                if kind == 1
                else _change_text(entries[name], rng, TOKENS, [text])
            )
            head = json.dumps(header).encode("utf-8", "replace")
            return len(head).to_bytes(8, "little") + head + data[8 + length :]
    head = _change_text(text, rng, TOKENS, [text]).encode("utf-8", "replace")
    return len(head).to_bytes(8, "little") + head + data[8 + length :]


HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63, -(2**63), 10**30, 1e15, 1e300, -1e300, 0.5),
    *(float("nan"), float("inf"), "", "x", "x" * 300, "9" * 5000),
    *([], {}, [[]], [0], [1e400], [None]),
    *({"": None}, {"a": {"b": []}}, [[[[[[[[[[]]]]]]]]]], "2C", "null", "two_player", "\ud800"),
)


def _change_json(text: str, rng: random.Random) -> str:
    """A JSON text with values in it replaced, left out or moved."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return _change_text(text, rng, TOKENS, [text])
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(tree))
        if not places:
            return json.dumps(rng.choice(HOSTILE))
        owner, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            del owner[key]
        elif kind == 1:
            other, place = rng.choice(places)
            owner[key] = copy.deepcopy(other[place])
        elif kind == 2 and isinstance(owner, dict):
            owner[rng.choice(("", "x", "players", "__class__", "QS", "0"))] = copy.deepcopy(
                owner[key]
            )
        else:
            owner[key] = copy.deepcopy(rng.choice(HOSTILE))
    return json.dumps(tree)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


# ---- the targets ---------------------------------------------------------------------------------
def text_of(data: Data) -> str:
    """An input as text."""
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def write(data: Data, path: Path) -> Path:
    """An input as a file."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return path


CARD_SAMPLES: list[Data] = [*ALL_CARDS, "10h", "q♠", " Qs "]


def read_card(data: Data, folder: Path) -> None:
    card = parse_card(text_of(data))
    assert card in ALL_CARDS
    assert parse_card(card) == card


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


def read_history_file(data: Data, folder: Path) -> None:
    for record in read_records(write(data, folder / "history.txt")):
        assert Game.from_text(record.game.to_text()) == record.game


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
    """Accepted rules are written and read back, and can be dealt and played."""
    assert Rules.from_text(rules.name) == rules
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert 0 < rules.max_margin < math.inf
    game = played_on(rules, 1, 3)
    assert Game.from_text(game.to_text()) == game


def rules_json_samples() -> list[Data]:
    return [
        json.dumps(Rules.preset(name).to_dict(), indent=0)
        for name in ("micro", "party", "omnibus", "black_jack", "kitty")
    ]


def read_rules_json(data: Data, folder: Path) -> None:
    try:
        fields = json.loads(text_of(data))
    except (ValueError, RecursionError):
        return
    check_rules(Rules.from_dict(fields))


def config_samples() -> list[Data]:
    shipped = [config.read_text(encoding="utf-8") for config in shipped_configs().values()]
    return [
        *shipped,
        "# nothing\n",
        "seed: 1\nname: x\nenv: {rules: micro, seat: 1, num_envs: 64}\nbudget: {decisions: 1e3}\n",
        "schedule:\n  - {until: 0.5, opponents: {easy: 1, self: 2.5}}\n  - opponents: {pro: 1}\n",
        "ppo: &p {num_steps: 4, batch_size: 8}\nenv: {num_envs: 2}\nnetwork: {policy: []}\n",
        "evaluation: {opponents: &a [easy, pro]}\nschedule: [{opponents: {easy: 1}}]\n",
    ]


def read_config(data: Data, folder: Path) -> None:
    config = load_config(write(data, folder / "config.yaml"))
    again = load_config(write(config.to_yaml(), folder / "again.yaml"))
    assert again == config


OVERRIDE_SAMPLES: list[Data] = [
    "seed=7",
    "ppo.learning_rate=3e-4",
    "schedule.0.opponents.standard=2",
    "schedule=[{until: 0.25, opponents: {easy: 1}}, {opponents: {self: 3}}]",
    "network.trunk=[64, 64]",
    "evaluation.opponents=[easy]",
    "env.rules=mini trump=null",
    "env.seat=random",
    "budget.decisions=1e3",
    "name=a-b_c.d",
]


def read_override(data: Data, folder: Path) -> None:
    config = load_config(None, [text_of(data)])
    assert isinstance(config, TrainConfig)
    write(config.to_yaml(), folder / "again.yaml")
    assert load_config(folder / "again.yaml") == config


def agent_samples() -> list[Data]:
    return ["easy", "standard", "pro_trump", "pimc", "pro?worlds=50", "pimc_belief?model=pimc"]


def read_agent(data: Data, folder: Path) -> None:
    spec = text_of(data)
    if ":" in spec:  # code is named, which a test that makes up names does not run
        raise HeartsError("left out")
    make_agent(spec, seed=0)


def tensors(layers: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(layers)):
        made[f"policy.{i}.weight"] = rng.normal(size=(outputs, inputs)).astype(np.float32)
        made[f"policy.{i}.bias"] = np.zeros(outputs, np.float32)
    return made


def made_by(save: Callable[[Path], object]) -> bytes:
    """The file that `save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def checkpoint_samples() -> list[Data]:
    rules = Rules.preset("micro")
    from hearts_env.encoders import make_encoder

    size = math.prod(make_encoder("flat").space(rules).shape)
    made: list[Data] = []
    for layers in ((size, 8), (size, 3, 2, 8)):
        meta = Checkpoint(rules, "flat", layers, "relu", {"name": "x", "decisions": 5})
        made.append(made_by(lambda path, m=meta: save_checkpoint(path, tensors(m.layers), m)))
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
        **{f"policy/{name}": array for name, array in tensors((5, 4)).items()},
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
    made: list[Data] = []
    for algorithm in ("pdcfr+", "dcfr"):
        solver = equilibrium.Solver(small_tree(Rules.from_text("micro hand_size=2")), algorithm)
        for _ in range(3):
            solver.step()
            solver.seconds = float(solver.iteration)  # the same on every machine
            solver.look()
        made += [made_by(solver.save), made_by(solver.result().save)]
    return made


def read_solved(data: Data, folder: Path) -> None:
    path = write(data, folder / "solved.safetensors")
    original = solved_files.Tree
    solved_files.Tree = lambda rules, max_memory: small_tree(rules)  # type: ignore[assignment,misc,return-value]
    try:
        found = equilibrium.load(path, 0.01)
        assert -100 < found.value < 100
        assert found.exploitability > -1e-6
        try:
            solver = equilibrium.Solver.load(path, 0.01)
        except HeartsError:
            return
    finally:
        solved_files.Tree = original  # type: ignore[misc]
    solver.step()


SETTINGS = {
    "agents": [{"name": name, "options": {}} for name in ("easy", "pro")],
    "rules": {"players": 2},
    "deals": 4,
}
"""What is asked for when a file of results is continued."""


def results_samples() -> list[Data]:
    scores, shooters = np.arange(8).reshape(4, 2), np.full(4, -1)
    blocks = [
        {"pairing": [0, 1], "block": Block(first, 2, scores, scores, shooters).to_json()}
        for first in (0, 2)
    ]
    header = {"format": RESULTS.name, "version": RESULTS.version, "package": __version__}
    lines = [header | {"settings": SETTINGS}, *blocks]
    return [b"".join(map(sealed, lines))]


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """The entry of a line changed, as if it had been written so; or a line moved or doubled."""
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), lines.pop(at) if rng.random() < 0.5 else lines[at])
        return b"".join(lines)
    changed = json.loads(_change_json(json.dumps(json.loads(lines[at])["entry"]), rng))
    with contextlib.suppress(ValueError):  # what cannot be written
        text = json.dumps(changed, allow_nan=False, separators=(",", ":"))
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        lines[at] = f'{{"digest":"{digest}","entry":{text}}}\n'.encode()  # an object or not
    return b"".join(lines)


def read_results(data: Data, folder: Path) -> None:
    path = write(data, folder / "results.jsonl")
    with saving(None, path, RESULTS, SETTINGS) as store:
        assert store is not None
        for record in store.records:
            with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
                block = Block.of(record.entry["block"], 2)
                assert block.scores.shape == (2 * block.deals, 2)
        size = len(store.records)
        store.append({"pairing": [0, 1]})
    again = Store.open(path, RESULTS)
    assert len(again.records) == size + 1
    assert all(again.settings[name] == value for name, value in SETTINGS.items())


def table_samples() -> list[Data]:
    games = [("micro", 25, False), ("party players=3", 20, False), ("mini", 14, True)]
    with tempfile.TemporaryDirectory() as folder:
        return [written(Path(folder), *game) for game in games]


def read_table(data: Data, folder: Path) -> None:
    """The table of a file is shown to everybody, card by card."""
    path = write(data, folder / f"{NAME}.jsonl")
    table = Table.resume(path)
    for seat in (None, *range(table.rules.players)):
        json.loads(message_of(table, seat))
        for entry in table.log:
            json.loads(entry_message(entry, table.id, seat))
    settings = Store.open(path, KIND).settings
    assert table.head() | {"seats": []} == settings | {"seats": []}


def metrics_samples() -> list[Data]:
    rows = [
        {"kind": "update", "decisions": 100, "updates": 1, "seconds": 1.0, "loss": 0.5}
        | {"decisions_per_second": 100.0},
        {"kind": "evaluation", "decisions": 100, "updates": 1, "seconds": 2.0, "round": 0}
        | {"opponent": "pro", "margin": -1.0, "ci95": [-2.0, 0.0], "seed": 1, "deals": 50}
        | {"won": 0.5},
    ]
    return [
        "\n".join(json.dumps(row) for row in rows).encode() + b"\n" + end
        for end in (b"", b"\xff\xfe", b'{"kind": "upd')
    ]


def read_metrics(data: Data, folder: Path) -> None:
    write(data, folder / runs.METRICS_NAME)
    for row in runs.read_metrics(folder):
        assert type(row["decisions"]) is int
        assert isinstance(row["kind"], str)
        json.dumps(row)


_LIST = [
    Target("cards", lambda: CARD_SAMPLES, read_card),
    Target("histories", history_samples, read_history),
    Target("history files", history_samples, read_history_file),
    Target("rules", rules_samples, read_rules, RULES_TOKENS),
    Target("rules as JSON", rules_json_samples, read_rules_json, is_json=True),
    Target("configs", config_samples, read_config),
    Target("overrides", lambda: OVERRIDE_SAMPLES, read_override),
    Target("agents", agent_samples, read_agent, ("?", "&", "=", "worlds", ".npz")),
    Target("players", checkpoint_samples, read_checkpoint_file),
    Target("training states", state_samples, read_state),
    Target("solved files", solved_samples, read_solved),
    Target("results", results_samples, read_results, change=change_lines),
    Target("tables", table_samples, read_table, change=change_lines),
    Target("logs", metrics_samples, read_metrics),
]
TARGETS = {target.name: target for target in _LIST}


# ---- trying --------------------------------------------------------------------------------------
def try_input(target: Target, data: Data, folder: Path) -> str:
    """``read`` or ``refused``.

    Raises:
        Exception: the target raised something else, took too long or refused in too many words.
    """
    try:
        with limited(MOST_SECONDS):
            target.read(data, folder)
    except HeartsError as error:
        message = str(error).replace(str(folder), "")
        assert message, "a refusal without a word"
        assert "\n" not in message, f"a refusal of several lines: {message[:200]!r}"
        assert len(message) <= MOST_MESSAGE, f"a refusal of {len(message):,} characters"
        return "refused"
    return "read"


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends the block after so much processor time; where there is no such timer, never."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TooSlowError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def work(name: str, first: int, number: int) -> dict[str, int]:
    """Try `number` inputs of a target.

    Raises:
        AssertionError: one was a fault; the message has the input and how to repeat it.
    """
    target = TARGETS[name]
    counts = {"inputs": 0, "read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for sample in _samples(name):  # whatever there is to compile
            target.read(sample, folder)
        before = peak_megabytes()
        for place in range(first, first + number):
            data = make_input(target, place)
            try:
                counts[try_input(target, data, folder)] += 1
            except Exception as error:
                raise AssertionError(
                    f"{name}, input {place}: {type(error).__name__}: {error}\n"
                    f'python -c "from tests.fuzz import repeat; repeat({name!r}, {place})"'
                ) from error
            counts["inputs"] += 1
        growth = peak_megabytes() - before
        assert growth < MOST_GROWTH, f"{name}, from input {first} on: {growth:.0f} MB more"
    return counts


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def repeat(name: str, place: int) -> None:
    """Show an input of a target, and its result."""
    data = make_input(TARGETS[name], place)
    print(repr(data[:3000]), "..." if len(data) > 3000 else "")
    with tempfile.TemporaryDirectory() as folder:
        print(try_input(TARGETS[name], data, Path(folder)))
