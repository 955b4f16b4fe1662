"""Results belong to the code that made them: learners, networks, encoders, agents, weights."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import torch

from hearts_agents.models.checkpoint import read_checkpoint, save_checkpoint
from hearts_agents.user_code import TRUST, is_users, packed
from hearts_env.encoders import ENCODERS, FlatEncoder
from hearts_train.learn import report, runs, training
from hearts_train.learn.config import ConfigError
from hearts_train.learn.own_code import OwnCode, change_of, code_of, continued, to_json
from hearts_train.learn.ppo import PPO
from hearts_train.learn.training import train, train_run, train_seeds
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
MEAN = torch.zeros(())
NET = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Tanh())
RNG = np.random.default_rng()
DRAWS = torch.Generator()


class Kind(enum.Enum):
    ONE = 1


@dataclasses.dataclass
class Settings:
    scale: float = 1.0


class Pair(NamedTuple):
    one: int = 1


def scaled(loss: Any) -> Any:
    return SCALE * loss


class Scaled(PPO):
    factor = 1.0

    @torch.no_grad()
    def unused(self) -> Any:
        return Kind.ONE, Settings(), Pair(), TABLE, os.sep, torch.float32

    def loss(self, some: Any) -> Any:
        loss, figures = super().loss(some)
        return self.factor * scaled(loss), figures


class Other(PPO):
    pass


def times(factor: float) -> Any:
    """Return a decorator that multiplies losses."""

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def decorated(self: Any, some: Any) -> Any:
            loss, figures = method(self, some)
            return factor * loss, figures

        return decorated

    return decorate


def decorated(factor: float) -> type[PPO]:
    class Decorated(PPO):
        @times(factor)
        def loss(self, some: Any) -> Any:
            return super().loss(some)

    return Decorated


class Busy(PPO):
    """A learner whose objects change when it trains, or cannot be compared."""

    losses: ClassVar[list[Any]] = []

    def loss(self, some: Any) -> Any:
        with LOCK:
            loss, figures = super().loss(some)
            self.losses.append(loss.detach())
            MEAN.add_(RNG.random() + torch.rand(1, generator=DRAWS)[0])
        return NET(MEAN.reshape(1)).sum() * 0 + loss, figures


class Starting(PPO):
    made = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        type(self).made += 1


# ---- finished and unfinished runs ----------------------------------------------------------------
def train_seed(folder: Path, learner: type[PPO] | None, **settings: Any) -> Any:
    config = recipe(*SHORT)
    return train_seeds(config, folder, [3], workers=1, progress=False, learner=learner, **settings)


def test_finished_seed_of_another_class_is_refused(tmp_path, plain):
    before = train_seed(tmp_path, decorated(0.5))
    assert train_seed(tmp_path, decorated(0.5)).to_json() == before.to_json()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for learner in (None, Other, decorated(0.1)):
        with raises_hearts_error(ConfigError, "run", "seed-3", "Decorated", hint="another folder"):
            train_seed(tmp_path, learner)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("learner", [Busy, Starting])
def test_learner_changed_by_its_training_is_reused(tmp_path, plain, learner):
    before = code_of(recipe(), learner)
    config = recipe(*SHORT)
    for seeds in ([3], [3, 5], [3, 5]):
        found = train(config, tmp_path, seeds=seeds, workers=1, progress=False, learner=learner)
        assert found.is_finished
    for seed in (3, 5):
        (code,) = runs.load_state(tmp_path / f"seed-{seed}" / runs.STATE_NAME).code
        assert code == before


@pytest.mark.slow
def test_learner_changed_here_is_reused_from_workers(tmp_path, plain):
    """A learner without a module reaches the workers with the list that training filled."""
    learner = class_of(
        "L = PPO\nclass L(L):\n    found = []\n    def loss(self, some):\n"
        "        self.found.append(1)\n        return PPO.loss(self, some)"
    )
    config, folder = recipe(*SHORT), tmp_path / "all"
    train(config, tmp_path / "one", learner=learner, progress=False)
    for _ in range(2):
        found = train(config, folder, seeds=[3, 5], workers=2, progress=False, learner=learner)
        assert found.is_finished
        assert learner.found  # type: ignore[attr-defined]


def test_finished_runs_of_changed_code_are_refused(tmp_path, plain, monkeypatch):
    train_seed(tmp_path, Scaled)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
    with raises_hearts_error(ConfigError, "run", "seed-3", "Scaled", hint="another folder"):
        train_seed(tmp_path, Scaled)
    with raises_hearts_error(ConfigError, "run", "seed-3", "Scaled", hint="another folder"):
        train(resume=tmp_path / "seed-3", learner=Scaled, progress=False)


def test_finished_run_of_code_unknown_is_refused(tmp_path, plain):
    train_seed(tmp_path, Other)
    player = tmp_path / "seed-3" / runs.CHECKPOINT_NAME
    tensors, meta = read_checkpoint(player)
    odd = {"learner": "m.L", "digests": {"m.L": "# title\n"}}
    for code in ("none", [], [{"learner": 1}], [odd]):
        save_checkpoint(player, tensors, dataclasses.replace(meta, training={"code": code}))
        with raises_hearts_error(ConfigError, "run", "seed-3", hint="another folder"):
            train_seed(tmp_path, Other)


def test_unfinished_run_of_changed_code_resumes_with_warning(tmp_path, plain, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        on_update(patched, stop, 2)
        train_run(recipe(*SHORT), tmp_path / "run", learner=Scaled)
    (first,) = runs.load_state(tmp_path / "run" / runs.STATE_NAME).code
    monkeypatch.setattr(Scaled, "factor", 2.0)
    assert train(resume=tmp_path / "run", learner=Scaled).is_finished
    assert "warning" in capsys.readouterr().err
    history = runs.load_state(tmp_path / "run" / runs.STATE_NAME).code
    assert [(one.learner, one.since) for one in history] == [(first.learner, n) for n in (0, 2)]
    card = (tmp_path / "run" / runs.CARD_NAME).read_text()
    for code in history:
        assert code.digests[first.learner][:16] in card
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


def test_script_and_import_are_same_code():
    script, module = OwnCode("__main__.L", {"__main__.L": "1"}), OwnCode("m.L", {"m.L": "1"})
    assert change_of(script, module) == change_of(module, script) == ""
    other, ours = OwnCode("m.L", {"m.L": "2"}), OwnCode("hearts_train.L", {})
    assert "'m.L' has changed" in change_of(script, other)
    for before, now in ((module, ours), (ours, module)):
        assert "has changed" in change_of(before, now)
    found = [learner_code(cell_class(CELL, module=name)) for name in ("__main__", "tests")]
    assert found[0].learner != found[1].learner
    assert change_of(*found) == ""


def test_names_in_a_card_stay_in_their_line(whole):
    _, meta = read_checkpoint(whole)
    code = to_json([OwnCode("m.L", {"a\n# b`": "0" * 64})])
    card = report.format_card(
        dataclasses.replace(meta, training=meta.training | {"code": code}), []
    )
    (line,) = (line for line in card.splitlines() if "Own code" in line)
    assert line.endswith("`` a\\n# b` `` " + "0" * 16)


# ---- digests -------------------------------------------------------------------------------------
def learner_code(learner: type[PPO]) -> OwnCode:
    return code_of(recipe(), learner)


def test_own_classes_have_digests_and_others_none():
    for learner in (PPO, VRPOLearner):
        assert learner_code(learner).digests == {}
    name = f"{__name__}.Scaled"
    assert learner_code(Scaled) == learner_code(Scaled)
    assert learner_code(Scaled).learner == name
    assert learner_code(Scaled).digests[name]


def class_of(text: str, module: str = "__main__", **names: Any) -> type[PPO]:
    """Return the class L of a program without a file, as a notebook defines it."""
    space = {"__name__": module, "PPO": PPO} | names
    exec(text, space)
    found: type[PPO] = space["L"]
    return found


CELL = """
import contextlib, dataclasses, enum, functools, threading
import numpy as np, pydantic, torch
from torch import nn

def times(factor):
    def decorate(method):
        @functools.wraps(method)
        def inner(*args): return factor * method(*args)
        return inner
    return decorate

class Offset:
    def __init__(self, by, method):
        functools.update_wrapper(self, method)
        self.by = by
    def __call__(self, some): return self.by + self.__wrapped__(some)

@contextlib.contextmanager
def limit(most): yield most

@functools.lru_cache
def cached(x): return x + 61

@functools.partial(Offset, 62)
def shifted(x):
    "Shift."
    return x + 63

@functools.singledispatch
def chosen(x): return 64
@chosen.register
def _(x: int): return 65

@dataclasses.dataclass
class Settings:
    scale: float = 66.0

class Model(pydantic.BaseModel):
    scale: float = 67.0

class Slots:
    __slots__ = ("one", "two")

class Kind(enum.Enum):
    ONE = 68

class Numbers(list):
    def first(self): return 69

class Node: pass
NODE = Node()
NODE.itself, NODE.value = NODE, 70

def twice(x): return 2 * x
def nothing(one, two=()): return one
def guarded(x):
    try:
        x()
        nothing(x)
    except ValueError:
        pass

SCALE = 71
NAMES = {"one", "two", "three", (1, "four")}
ARRAY = np.array([72.0])
TENSOR = torch.tensor([73.0], dtype=torch.bfloat16)
SPARSE = torch.tensor([0.0, 74.0]).to_sparse()
torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
PARTIAL = functools.partial(lambda x, y: x * y + 75, 76)
FEW = map(twice, [77])
BOUND = Numbers([78]).first
LOCK, STEPS = threading.Lock(), (step for step in ())

class Base(PPO):
    def outer(self): return lambda: SCALE

class L(Base):
    "Learn."
    factor = 79

    @times(80)
    def loss(self, some):
        "Return it."
        class Inner:
            "Inside."
            value = 81
        with LOCK:
            return twice(some), Inner, helpers.used(some), STEPS

    @torch.no_grad()
    def quiet(self): return 82

    @limit(83)
    def limited(self): return cached(shifted(chosen(guarded(1))))

    @functools.cached_property
    def late(self):
        "Keep."
        return 84

    @staticmethod
    def both(x): return Settings(), Model(), Slots, Kind.ONE, NODE, NAMES, BOUND, FEW

    @classmethod
    def all(cls): return ARRAY, TENSOR, SPARSE, NET, PARTIAL
"""
HELPERS = "def used(x): return x + 1\ndef unused(x): return 1"


def helpers(text: str = HELPERS) -> ModuleType:
    module = ModuleType("helpers")
    exec(text, vars(module))
    return module


def cell_class(text: str = CELL, more: str = HELPERS, module: str = "__main__") -> type[PPO]:
    return class_of(text, module, helpers=helpers(more))


def cell_code(text: str = CELL, more: str = HELPERS) -> OwnCode:
    return learner_code(cell_class(text, more))


NUMBERS = [(str(number), f"1{number}") for number in range(61, 85)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *NUMBERS,
        ("2 * x", "3 * x"),
        ("factor * method", "factor + method"),
        ("twice(some)", "twice(twice(some))"),
        ("lambda: SCALE", "lambda: -SCALE"),
        ("lambda x, y: x * y", "lambda x, y: x / y"),
        ("class L(Base)", "class L(PPO)"),
        ("@torch.no_grad()", "@torch.enable_grad()"),
        ("nn.ReLU()", "nn.Tanh()"),
        ("manual_seed(0)", "manual_seed(1)"),
        ("torch.bfloat16", "torch.float16"),
        ('"two")', '"six")'),
        ('"four")', '"five")'),
        ("one, two=()", "two, one=()"),
        ("one, two=()", "one, *, two=()"),
        ("one, two=()", "one, *two"),
        (
            "        nothing(x)\n    except ValueError:\n",
            "    except ValueError:\n        nothing(x)\n",
        ),
    ],
)
def test_digest_of_notebook_class_covers_what_it_uses(old, new):
    assert CELL.count(old) == 1
    assert cell_code(CELL.replace(old, new)) != cell_code()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\nclass L(", "\n# A comment.\n\nclass L("),
        ('"Learn."', '"Learn more."'),
        ('    "Learn."\n', ""),
        ('"Return it."', '"Return more."'),
        ('"Inside."', '"Within."'),
        ('"Keep."', '"Keep it."'),
        ('"Shift."', '"Shift it."'),
    ],
)
def test_digest_ignores_docstrings_and_comments(old, new):
    assert CELL.count(old) == 1
    assert cell_code(CELL.replace(old, new)) == cell_code()


def test_digest_covers_used_parts_of_own_modules():
    assert cell_code(more=HELPERS.replace("x + 1", "x + 2")) != cell_code()
    assert cell_code(more=HELPERS.replace("return 1", "return 2")) == cell_code()


@pytest.mark.parametrize(
    "text",
    [
        "import own_pack.inner.deep\nclass L(PPO):\n"
        "    def loss(self): return own_pack.inner.deep.COEF",
        "import own_pack.inner.deep as deep\nclass L(PPO):\n    held = deep",
        "import own_pack.inner.deep as deep\nclass L(PPO):\n    def f(self, by=deep): by.COEF",
    ],
    ids=["named", "attribute", "default"],
)
def test_changed_module_in_a_package_is_noticed(monkeypatch, tmp_path, text):
    def code() -> OwnCode:
        for name in [name for name in sys.modules if name.startswith("own_pack")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return learner_code(class_of(text))

    folder = tmp_path / "own_pack" / "inner"
    folder.mkdir(parents=True)
    (folder / "deep.py").write_text("COEF = 0.1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = code()
    assert code() == before
    (folder / "deep.py").write_text("COEF = 0.95")
    assert code() != before


@pytest.mark.parametrize(
    ("base", "body"),
    [
        ("property", "get = Own(lambda self: {})"),
        ("staticmethod", "get = Own(lambda: {})"),
        ("classmethod", "get = Own(lambda cls: {})"),
        ("frozenset", "get = Own({{{}}})"),
    ],
)
def test_digest_covers_subclasses_of_built_in_classes(base, body):
    def code(value: int) -> OwnCode:
        text = f"class Own({base}): pass\nclass L(PPO):\n    {body.format(value)}"
        return learner_code(class_of(text))

    assert code(1) == code(1)
    assert code(1) != code(2)


def test_learner_in_a_file_named_like_a_standard_module_counts(monkeypatch):
    module = ModuleType("profile")
    module.__file__ = "/home/me/profile.py"
    monkeypatch.setitem(sys.modules, "profile", module)
    assert is_users("profile")
    assert not is_users("itertools")


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise OSError


def deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (Hostile(), LOCK),
        (sys.__stderr__, LOCK),
        (deep(5000), deep(5001)),
        (torch.ones(2, device="meta"), torch.ones(3, device="meta")),
        (torch.ones(2, dtype=torch.cfloat).conj(), torch.zeros(2, dtype=torch.cfloat).conj()),
        (np.float32(1), np.float64(1)),
        (re.compile("one"), re.compile("two")),
    ],
    ids=["hostile", "file", "deep", "meta", "conjugate", "scalar", "pattern"],
)
def test_digest_covers_odd_values(value, other):
    def code(value: Any) -> OwnCode:
        return learner_code(class_of("class L(PPO):\n    value = value", value=value))

    assert code(value) == code(value)
    assert code(value) != code(other)


def test_digest_ignores_what_copies_add():
    learner: Any = class_of("class Own: pass\nclass L(PPO):\n    kind = Own")
    before = learner_code(learner)
    copy.copy(learner.kind())
    assert "__slotnames__" in vars(learner.kind)
    assert learner_code(learner) == before


def test_digest_covers_the_values_around_a_class():
    def made(scale: float) -> type[PPO]:
        class Inner(PPO):
            def loss(self, some: Any) -> Any:
                return scale

        return Inner

    assert learner_code(made(1.0)) == learner_code(made(1.0))
    assert learner_code(made(1.0)) != learner_code(made(2.0))


@pytest.mark.slow
def test_digests_are_equal_in_every_process(tmp_path):
    kept = CELL.replace("threading.Lock(), (step for step in ())", "contextlib.nullcontext(), None")
    for cannot_be_sent in ("lru_cache", "singledispatch", "cached_property", "limit(83)"):
        kept = re.sub(rf"\n *@(functools\.)?{re.escape(cannot_be_sent)}(?=\n)", "", kept)
    sent = cell_class(kept.replace("@chosen.register", "@torch.no_grad()"))
    (tmp_path / "sent").write_bytes(packed("workers: the work", sent, "use one worker"))
    text = (
        "import pickle, sys; from tests import test_own_code as t;"
        "sent = pickle.load(open(sys.argv[1], 'rb'));"
        "print(*[t.learner_code(one) for one in (t.Scaled, t.cell_class(), sent)], sep='\\n')"
    )
    expected = [str(learner_code(one)) for one in (Scaled, cell_class(), sent)]
    for seed in ("1", "2"):
        words = [sys.executable, "-c", text, str(tmp_path / "sent")]
        found = subprocess.check_output(words, env=os.environ | {"PYTHONHASHSEED": seed}, text=True)
        assert found.splitlines() == expected


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
        found.append(code_of(config, PPO))
    assert len(found[0].digests) == 1
    assert change_of(found[0], found[1]) == ""
    assert file in change_of(found[1], found[2])


@pytest.mark.parametrize("setting", ["network.module", "env.observation", "opponents"])
def test_changed_code_without_a_file_is_noticed(monkeypatch, setting):
    monkeypatch.setenv(TRUST, "1")
    name = f"notebook:{'Bot' if setting == 'opponents' else 'Net'}"
    config = recipe(f"{setting}={{self: 1, '{name}': 1}}" if "Bot" in name else f"{setting}={name}")
    found = []
    for text in (NETWORK + AGENT, NETWORK + AGENT, (NETWORK + AGENT).replace(": pass", ": x = 1")):
        module = ModuleType("notebook")
        exec(text.replace("[0]", "[1]") if ": x" in text else text, vars(module))
        monkeypatch.setitem(sys.modules, "notebook", module)
        found.append(code_of(config, PPO))
    assert change_of(found[0], found[1]) == ""
    assert name in change_of(found[1], found[2])


@pytest.mark.parametrize(
    ("folder", "is_own"),
    [
        ("/usr/lib/python3/dist-packages", False),
        ("/home/me/.local/lib/python3.11/site-packages", False),
        (sysconfig.get_path("stdlib"), False),
        (sysconfig.get_path("stdlib") + "-of-mine", True),
        ("/home/me/packages", True),
    ],
)
def test_module_belongs_to_user_by_its_folder(monkeypatch, folder, is_own):
    module = ModuleType("some")
    module.__file__ = f"{folder}/some/__init__.py"
    monkeypatch.setitem(sys.modules, "some", module)
    assert is_users("some") == is_users("some.compiled") == is_own


@pytest.mark.parametrize("place", ["opponents={self: 1, run: 1}", "network.start=run"])
def test_changed_weights_are_noticed(whole, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, "run")
    config = recipe(place, "ppo.magnet=run")  # not used as a magnet
    before = code_of(config, PPO)
    tensors, meta = read_checkpoint("run")
    save_checkpoint(Path("run", runs.CHECKPOINT_NAME), tensors, meta)
    assert change_of(before, code_of(config, PPO)) == ""
    changed = {name: tensor + 1 for name, tensor in tensors.items()}
    save_checkpoint(Path("run", runs.CHECKPOINT_NAME), changed, meta)
    assert "run" in change_of(before, code_of(config, PPO))


def test_changed_registered_encoder_is_noticed(monkeypatch):
    class Own(FlatEncoder):
        scale = 1

    config = recipe("env.observation=own")
    monkeypatch.setitem(ENCODERS, "own", Own())
    before = code_of(config, PPO)
    assert change_of(before, code_of(config, PPO)) == ""
    monkeypatch.setattr(Own, "scale", 2)
    assert "own" in change_of(before, code_of(config, PPO))


def test_agents_of_the_package_have_no_digests():
    config = recipe("evaluation.opponents=[easy, pro, 'pimc_belief?model=pro']")
    assert code_of(config, PPO).digests == {}


def test_unused_magnet_is_not_looked_for():
    assert code_of(recipe("ppo.magnet=nowhere/player"), PPO).digests == {}
