"""Configs: defaults, files, overrides, and messages about mistakes."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from hearts_env import HeartsError
from hearts_train.learn.config import ConfigError, Name, TrainConfig
from hearts_train.learn.config_files import (
    _OTHER_NAMES,
    _read_tree,
    load_config,
    make_config,
    shipped_configs,
)
from hearts_train.learn.loop import LEARNERS
from hearts_train.learn.plain_yaml import Loader
from tests.refusals import raises_hearts_error


def test_empty_config_is_complete(tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing differs\n")
    config = load_config(empty)
    assert config.name == "empty"
    assert config.model_copy(update={"name": "run"}) == TrainConfig() == load_config()


@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_shipped_configs_load_and_omit_defaults(name):
    config = load_config(name)
    assert config.name == name
    defaults = TrainConfig().model_dump(mode="json")
    stated = yaml.safe_load(shipped_configs()[name].read_text())

    whole = ("budget", "opponents")

    def compare(tree, default, place):
        for key, value in tree.items():
            if isinstance(value, dict) and isinstance(default.get(key), dict) and key not in whole:
                compare(value, default[key], f"{place}{key}.")
            else:
                assert default.get(key) != value, f"{place}{key} is the default"

    compare(stated, defaults, "")


def test_overrides_are_yaml():
    config = load_config(
        None,
        [
            "budget.decisions=1e6",
            "ppo.clip_range_vf=0.3",
            "opponents={self: 3, standard: 2}",
            "evaluation.opponents=[easy]",
        ],
    )
    assert config.budget.decisions == 1_000_000
    assert config.ppo.clip_range_vf == 0.3
    assert config.opponents == {"self": 3, "standard": 2}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("ppo.lerning_rate=1", ["ppo.lerning_rate", "'learning_rate'"]),
        ("ppo.learning_rate=-1", ["ppo.learning_rate", "-1", "0"]),
        ("ppo.magnet_coef_end=0.1", ["ppo.magnet_coef", "average"]),
        ("ppo.gamma=.nan", ["ppo.gamma", "nan"]),
        ("env.reward=margins", ["env.reward", "'margins'", "'margin'"]),
        ("budget.decisions=null", ["budget.decisions", "None"]),
        ("ppo.batch_size=1", ["ppo.batch_size", "1", "2"]),
        ("opponents={}", ["opponents", "1"]),
        ("opponents.self=0", ["opponents.self", "0"]),
        ("network.trunk.0=8", ["network.trunk", "list"]),
        ("name=../x", ["name", "'../x'"]),
        ("seed=[", ["--set seed", "YAML"]),
        pytest.param(f"seed.{'1.' * 5000}=1", ["seed"], id="long key"),
        ("seed=2026-11-26", ["seed", "'2026-11-26'", "whole number"]),
        pytest.param(f"name={'x' * 5000}/", ["name", "xxx..."], id="long value"),
        pytest.param(f"network.trunk={'x' * 5000}", ["network.trunk", "xxx..."], id="long list"),
        ("network.trunk=256", ["network.trunk", "[256]"]),
        ("env.seat=-1", ["env.seat: -1", "random"]),
        ("compile=yes", ["compile: 'yes'", "auto"]),
        ("network={trunk: [8], trunk: [9]}", ["--set network", "line 1", "'trunk'"]),
        ("ppo={<<: {gamma: 1}}", ["'ppo.<<'"]),
        ("seed=!!merge <<", ["YAML"]),
    ],
)
def test_config_mistakes_name_key_value_and_fix(override, words):
    with pytest.raises(ConfigError) as caught:
        load_config(None, [override])
    message = str(caught.value)
    assert message.startswith("--set")
    assert "\n" not in message
    assert len(message) < 500
    for word in words:
        assert word in message, message
    assert isinstance(caught.value, HeartsError)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("total_timesteps", "budget.decisions"),
        ("n_steps", "ppo.num_steps"),
        ("ppo.n_steps", "num_steps"),
        ("lr", "ppo.learning_rate"),
        ("ppo.lr", "learning_rate"),
        ("learning_rate", "ppo.learning_rate"),
        ("n_epochs", "ppo.num_epochs"),
        ("n_envs", "env.num_envs"),
        ("env.n_envs", "num_envs"),
        ("ppo.num_envs", "env.num_envs"),
        ("batch_size", "ppo.batch_size"),
        ("num_minibatches", "ppo.batch_size"),
        ("ent_coef", "ppo.ent_coef"),
        ("clip_eps", "ppo.clip_range"),
        ("lam", "ppo.gae_lambda"),
        ("lambda", "ppo.gae_lambda"),
        ("gamma", "ppo.gamma"),
        ("env.seed", "seed"),
        ("rules", "env.rules"),
    ],
)
def test_names_of_other_libraries_suggest_a_setting(key, meant, tmp_path):
    (tmp_path / "my.yaml").write_text(f"{key.replace('.', ': {')}: 1{'}' * key.count('.')}\n")
    for source, load in {
        "--set": lambda: load_config("demo", [f"{key}=1"]),
        "overrides": lambda: load_config("demo", {key: 1}),
        str(tmp_path / "my.yaml"): lambda: load_config(tmp_path / "my.yaml"),
    }.items():
        with raises_hearts_error(ConfigError, source, repr(key), hint=f"did you mean {meant!r}?"):
            load()


@pytest.mark.parametrize("name", _OTHER_NAMES)
def test_every_name_of_other_libraries_is_known(name):
    with raises_hearts_error(ConfigError, "--set", hint="did you mean"):
        load_config(None, [f"{name}=1"])


def test_unknown_config_suggests_the_nearest_name():
    with raises_hearts_error(ConfigError, "config", hint="demo"):
        load_config("demmo")
    with raises_hearts_error(ConfigError, "config", "not dict"):
        load_config({"name": "demo"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a\nseed: [\n", ["line 3", "YAML"]),
        pytest.param("seed: " + "[" * 5000, ["YAML"], id="deep"),
        pytest.param("seed: 1 #" + "x" * 200_000, ["100,000"], id="large"),
        ("1: 2\n", ["1: 1", "string"]),
        ("- seed\n", ["key: value"]),
        ("seed: !!python/object/apply:os.getcwd []\n", ["YAML"]),
        ("seed: 1\nthreads: 1\nseed: 2\n", ["line 3", "'seed'", "twice"]),
        ("ppo: {gamma: 1}\nenv: {rules: mini}\nppo: {num_steps: 9}\n", ["line 3", "'ppo'"]),
        ("network:\n  trunk: &a [8]\n  policy: *a\n", ["line 3", "*a"]),
        ("env: !!timestamp 2026-11-28\n", ["line 1", "timestamp"]),
    ],
)
def test_files_without_a_config_raise(tmp_path, text, words):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    for word in [*words, "bad.yaml"]:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(path))


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}"])
def test_nested_yaml_aliases_are_refused_at_once(tmp_path, form):
    """Expanded, the file would have nine to the twelfth power words."""
    lines = ["a: &a {x: 1}"]
    for here, before in zip("bcdefghijklm", "abcdefghijkl", strict=True):
        lines.append(f"{here}: &{here} " + form.format(",".join([f"*{before}"] * 9)))
    path = tmp_path / "laughs.yaml"
    path.write_text("\n".join([*lines, "network: *m"]))
    with raises_hearts_error(ConfigError, f"{path}, line 2", "*a"):
        load_config(path)


def test_messages_name_the_file_or_set(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("ppo: {lr: 3}\nema_decay: 0.5\n")
    with raises_hearts_error(ConfigError, str(path), "'ppo.lr'", "; --set: unknown key 'ppo.x'"):
        load_config(path, ["ppo.x=1"])
    with raises_hearts_error(ConfigError, "--set", "ema_decay"):
        load_config("demo", ["algorithm=maskable_ppo", "ema_decay=0.5"])
    with raises_hearts_error(ConfigError, "champion.yaml", "ppo.magnet_coef"):
        load_config("champion", ["ema_decay=0"])


@pytest.mark.parametrize("overrides", [[1], "seed=1", None, 5, {1: 1}, {"ppo": {1: 1}}])
def test_overrides_other_than_settings_raise(overrides):
    with raises_hearts_error(ConfigError, "overrides", hint="'ppo.ent_coef"):
        load_config(None, overrides)


def test_overrides_as_mapping_change_single_settings():
    opponents = {"self": 2.0, "easy": 1.0}
    given = {"ppo": {"ent_coef": 0.5}, "budget.decisions": 7, "opponents": opponents}
    listed = ["ppo.ent_coef=0.5", "budget.decisions=7", "opponents={self: 2, easy: 1}"]
    assert load_config("classic", given) == load_config("classic", listed)
    config = load_config("classic", {**given, "opponents.pro": 3.0})
    assert config.opponents == {"self": 2.0, "easy": 1.0, "pro": 3.0}
    assert opponents == {"self": 2.0, "easy": 1.0}
    with raises_hearts_error(ConfigError, "overrides", "'ppo.lr'"):
        load_config("demo", {"ppo": {"lr": 1}})


def leaves(hint: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type]]:
    """Yield the place of every number and truth value of a config, with its type."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        for name, field in hint.model_fields.items():
            yield from leaves(field.rebuild_annotation(), (*place, name))
    elif hint in (int, float, bool):
        yield place, hint
    elif get_origin(hint) is not Literal:
        item = ("0",) if get_origin(hint) is list else ("easy",) if get_origin(hint) is dict else ()
        for part in get_args(hint):
            yield from leaves(part, place + item)


@pytest.mark.parametrize("text", ["yes", "on", "010", "1_000", "1:30", "'1'", "2026-11-28"])
def test_every_setting_takes_numbers_of_yaml_1_2(text):
    found = dict(leaves(TrainConfig))
    assert len(found) > 40
    for place, kind in found.items():
        for word in (text, "true" if kind is not bool else "1"):
            tree: Any = yaml.load(word, Loader)
            for part in reversed(place):
                tree = [tree] if part == "0" else {part: tree}
            with raises_hearts_error(ConfigError, "config", ".".join(place)):
                make_config(tree)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1e6),
        (".5", 0.5),
        ("-2.e+3", -2000.0),
        ("", None),
        ("~", None),
        ("0x1F", 31),
        ("0o17", 15),
        ("-7", -7),
        ("1.50", 1.5),
        ("-.INF", -math.inf),
        ("True", True),
        *((word, word) for word in ("yes", "off", "010", "08.5", "1_000", "1:30", "tRUE", "1e")),
        ("2026-11-28", "2026-11-28"),
        ("'1e6'", "1e6"),
    ],
)
def test_values_are_read_as_yaml_1_2(tmp_path, text, value):
    path = tmp_path / "one.yaml"
    path.write_text(f"seed: {text}\n")
    (found,) = _read_tree(path)[0].values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "name", ["1e6", "08", "5.", "null", "true", "off", "2026-11-26", "0o7", "1_0"]
)
def test_written_config_reads_back_unchanged(tmp_path, name):
    config = make_config({"name": name, "evaluation": {"opponents": [name, "007", ".inf", ""]}})
    path = tmp_path / "config.yaml"
    path.write_text(config.to_yaml())
    assert load_config(path) == config


def test_every_algorithm_has_a_learner():
    assert tuple(LEARNERS) == get_args(Name)


@pytest.mark.parametrize(
    ("algorithm", "changes", "names"),
    [
        (
            "maskable_ppo",
            {"env": {"num_envs": 3}, "ppo": {"num_steps": 3, "batch_size": 2}},
            "ppo.batch_size 9",
        ),
        ("vrpo", {"pretraining": {"positions": 100}}, "pretraining.positions"),
        (
            "maskable_ppo",
            {"ppo": {"magnet_coef_end": 0.1, "magnet": "champion"}},
            "ppo.magnet_coef",
        ),
    ],
)
def test_conflicting_settings_raise(algorithm, changes, names):
    changes = {"threads": 1, "algorithm": algorithm} | changes
    with raises_hearts_error(ConfigError, "config", *names.split()):
        make_config(changes)


@pytest.mark.parametrize(
    ("budget", "algorithm", "is_compiled"),
    [
        ({"decisions": 50_000_000}, "ppo", True),
        ({"decisions": 49_999_999}, "ppo", False),
        ({"decisions": 50_000_000}, "vrpo", True),
        ({"decisions": 50_000_000}, "maskable_ppo", False),
    ],
)
def test_compile_auto_is_decided_before_the_run(monkeypatch, budget, algorithm, is_compiled):
    config = make_config({"budget": budget, "algorithm": algorithm})
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert config.decided().compile is is_compiled
    for given in (True, False):
        plain = make_config({"budget": budget, "compile": given})
        assert plain.decided().compile is given
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert config.decided().compile is False


def test_updates_larger_than_memory_raise():
    for field, env, steps in (
        ("config env.num_envs", {"num_envs": 10**11}, 1),
        ("config ppo.num_steps", {"num_envs": 64}, 10**12),
        ("config ppo.num_steps", {"num_envs": 10**7}, 11),
    ):
        with raises_hearts_error(ConfigError, *field.split()):
            make_config({"env": env, "ppo": {"num_steps": steps}})
