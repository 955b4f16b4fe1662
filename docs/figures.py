"""Measures what the documentation says of players' strength, into ``docs/results``.

Every strength in the docs and in README comes from these files, by ``docs/tables.py``. A figure is
one or more commands, of ``hearts`` or of ``python -m bench``, and its file is what they print with
``--json``. Existing files are not measured again, and unfinished work lies in
``build/figures``: the command can be stopped and started at will.

    python docs/figures.py                 the players of the package, cheap ones first (hours)
    python docs/figures.py NAME ...        some of them, like standard-easy or exploit
    python docs/figures.py demo            five trainings of `hearts train demo`, seeds 0 to 4
    python docs/figures.py demo --seeds 2  one of them; likewise classic, mini_vrpo
    python docs/figures.py ladder speed    pictures, from their files
    python docs/figures.py --list          what there is
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hearts_env import Rules, __version__
from hearts_env.support.files import write_json
from hearts_env.support.interrupts import interruptible
from hearts_train.measure.evaluation import platform_versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
WORK = ROOT / "build" / "figures"


# ---- commands ------------------------------------------------------------------------------------
EVALUATIONS = {
    "standard-easy": "standard --opponents easy --deals 400000",
    "standard_trump-standard": "standard_trump --opponents standard --deals 200000",
    "pro-standard": "pro --opponents standard --deals 200000",
    "pro-easy": "pro --opponents easy --deals 240000",
    "pro-standard_trump": "pro --opponents standard_trump --deals 280000",
    "pro_trump-pro": "pro_trump --opponents pro --deals 50000",
    "pimc-pro": "pimc --opponents pro --deals 50000 --seed 1",
    "pimc_belief-pimc": "pimc_belief --opponents pimc --deals 400 --seed 1",
    "pimc_belief-pro": "pimc_belief --opponents pro --deals 400 --seed 1",
    "champion-pimc": "champion --opponents pimc --deals 20000 --seed 1",
    "champion-pro": "champion --opponents pro --deals 20000 --seed 1",
    "champion-standard": "champion --opponents standard --deals 20000 --seed 1",
    "champion_drawn-champion": "champion?greedy=false --opponents champion --deals 20000 --seed 1",
    "champion_small-champion": "champion?small=true --opponents champion --deals 20000 --seed 1",
    "champion_small-pimc": "champion?small=true --opponents pimc --deals 20000 --seed 1",
    "champion_search-pimc": "champion?search=50ms --opponents pimc --deals 1000 --seed 3",
    "champion_search-champion": "champion?search=50ms --opponents champion --deals 500 --seed 3",
    "champion-pimc-mini": "champion --opponents pimc --deals 20000 --seed 1 --rules mini",
    "champion-equilibrium-mini": "champion --opponents equilibrium "
    "--deals 20000 --seed 1 --rules mini",
    "champion-standard-classic": "champion --opponents standard "
    "--deals 10000 --seed 1 --rules classic",
    "champion-pro-classic": "champion --opponents pro --deals 250 --seed 1 --rules classic",
}
"""What ``hearts evaluate`` is asked. Quick players get +-0.03, searching players what a quarter of
an hour allows."""

_ATTACKS = {
    "standard": "standard --attackers all --deals 200",
    "pro": "pro --attackers all --deals 100",
    "demo-0": "../demo-0 --attackers all --deals 200",
    "pimc": "pimc --attackers all --deals 300",
    "champion": "champion --attackers all --deals 1000",
    "champion_small": "champion?small=true --attackers all --deals 300",
}
"""Attacks on players: all with equal attackers, which answer seven tricks exactly."""

PLAIN = ("random", "standard", "pro", "pimc")
_AGES = {"0.5M": 500_000, "2M": 2_000_000, "8M": 8_000_000}
"""Decisions that networks learn from."""
_CONFIGS = {"ppo": "mini", "vrpo": "mini_selfplay"}
"""What networks of these names are trained by."""
_NETWORKS = {
    "mini": {"ppo-0.5M": 3, "ppo-2M": 3, "ppo-8M": 1},
    "mini_6": {"ppo-0.5M": 1, "ppo-2M": 1},
    "micro": {"ppo-2M": 3},
    "midi": {"ppo-2M": 1},
    "micro-vrpo": {"vrpo-2M": 3},
    "mini-vrpo": {"vrpo-2M": 3},
    "mini_6-vrpo": {"vrpo-2M": 1},
    "midi-vrpo": {"vrpo-2M": 1},
}
"""The networks of each deck, whose name comes first: how many seeds of each age; where there are
several ages, they are attacked too."""
_LEARN = (
    "--set env.observation=recall --set threads=1 --set evaluation.times=0 "
    "--set evaluation.opponents=[] --set evaluation.exploitability=false "
    "--set evaluation.final_deals=100"
)

_HANDS = {
    "two_player_16": {"standard": 400, "pro": 200, "pimc": 400, "ppo-2M-0": 400},
    "two_player_20": {"pimc": 24},
}
"""Decks whose best responses are of drawn deals, and how many for each player. ``random`` mixes all
cards, so that too much can follow one hand."""


def _learning(deck: str, name: str) -> str:
    """The command that trains a network for a deck, by its age and seed: ``ppo-2M-0``."""
    kind, age, seed = name.split("-")
    budget = f"--set budget.decisions={_AGES[age]} --set seed={seed}"
    return f"train {_CONFIGS[kind]} --set env.rules={deck} {_LEARN} {budget} --run {name}"


def _networks(deck: str, ages: Mapping[str, int]) -> list[str]:
    """The commands that train networks for a deck, and find what is won from them."""
    most = max(ages.values())
    names = [f"{age}-{i}" for i in range(most) for age, seeds in ages.items() if i < seeds]
    learning = [_learning(deck, name) for name in names]
    if len(ages) == 1:
        return [*learning, f"exploit {' '.join(names)} --rules {deck} --max-memory 12"]
    attacks = [
        f"exploit {name} --rules {deck} --attackers belief,lbr,lbr_endings" for name in names
    ]
    return [command for pair in zip(learning, attacks, strict=True) for command in pair]


COMMANDS = {
    "exploit-champion": ["exploit champion champion?greedy=true --rules mini"],
    "exploit-mini_6": [
        "exploit random standard pro pimc --rules mini_6",
        "solve mini_6 --target 1e-3",
    ],
    "exploit-midi": [
        *(f"exploit {agent} --rules midi --max-memory 12" for agent in PLAIN),
        "solve midi --target 1e-4 --max-memory 13",
    ],
    "exploit": ["exploit random standard pro pimc equilibrium --rules micro,mini"],
    "speed": ["bench speed"],
    "speed_turns": ["bench speed --group turns"],
    "speed_jax": ["bench speed --group jax"],
    "attack-awake": [
        f"exploit {agents} --attackers best_response --awake {awake} --deals {deals}"
        for agents, awake, deals in (
            ("champion champion?small=true ../demo-0 pimc pro", "7-13", 1000),
            (
                "champion champion?small=true ../demo-0 pimc pro champion?greedy=false "
                "champion?search=16",
                "9-13",
                600,
            ),
            ("champion champion?small=true", "5-13", 200),
            ("../demo-0 pimc pro", "5-13", 200),
        )
    ],
    "attack-micro": [
        f"exploit {agent} --rules micro --attackers belief,lbr,endings,lbr_endings"
        for agent in ("standard", "pro", "pimc", "equilibrium")
    ],
    "attack-mini": [
        "train mini --run network",
        *(
            f"exploit {agent} --rules mini --attackers all"
            for agent in ("standard", "pro", "pimc", "network", "equilibrium")
        ),
    ],
    **{
        f"networks-{name}": _networks(name.partition("-")[0], ages)
        for name, ages in _NETWORKS.items()
    },
    **{f"attack-{name}": [f"exploit {words} --tricks 7"] for name, words in _ATTACKS.items()},
    **{
        f"hands-{deck}": [
            *(_learning(deck, name) for name in counts if name.startswith("ppo")),
            *(
                f"exploit {agent} --rules {deck} --attackers best_response --deals {deals}"
                for agent, deals in counts.items()
            ),
        ]
        for deck, counts in _HANDS.items()
    },
}
"""Each in its own folder in `WORK`, empty at first; ``../demo-0`` was trained before."""

IMAGES = ROOT / "docs" / "images"
LADDER = (
    *("exploit", "exploit-mini_6", "exploit-midi"),
    *(f"networks-{name}" for name in _NETWORKS),
    *(f"hands-{deck}" for deck in _HANDS),
)
"""The files of the picture."""


def path_of(name: str) -> Path:
    """Where the results of this name lie."""
    return RESULTS / f"{name}.json"


def call(command: str, folder: Path) -> Any:
    """What a command prints with ``--json``, run in a folder.

    Raises:
        KeyboardInterrupt: if it was stopped.
    """
    program, *words = shlex.split(command)
    module = {"hearts": "hearts_train.cli.app", "bench": "bench.__main__"}[program]
    code = f"from {module} import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, check=False, cwd=folder
    )
    if done.returncode >= 128:
        raise KeyboardInterrupt
    done.check_returncode()
    return json.loads(done.stdout or "null")


def evaluate(name: str) -> None:
    """Play the deals of an evaluation, from where it was stopped, and write its file."""
    WORK.mkdir(parents=True, exist_ok=True)
    saved = WORK / f"{name}.jsonl"
    command, file = f"hearts evaluate {EVALUATIONS[name]} --json", shlex.quote(str(saved))
    resumed = f"hearts evaluate --resume {file} --json"
    (record,) = call(resumed if saved.exists() else f"{command} --save {file}", WORK)
    write_json(path_of(name), record | {"command": command})


def run_commands(name: str) -> None:
    """Run the commands of a figure, from where they were stopped, and write what they print."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for place, command in enumerate(COMMANDS[name]):
        line = command if command.startswith("bench ") else f"hearts {command}"
        typed = shlex.join(f"python -m {line}".split() if line == command else line.split())
        done, saved = folder / f"{place}.json", folder / f"{place}.jsonl"
        if not done.exists():
            if saved.exists():
                verb, _, limits = command.partition(" ")
                limits = limits.partition(" ")[2] if verb == "solve" else ""
                line = f"hearts {verb} --resume {saved.name} {limits}"
            elif (run := re.match("train .*--run (.*)", command)) and (folder / run[1]).exists():
                line = f"hearts train --resume {run[1]}"
            elif re.match("solve|exploit .*--deals", command):
                line += f" --save {saved.name}"
            write_json(done, call(f"{line} --json", folder))
        records.append({"command": typed, "results": json.loads(done.read_bytes())})
    record = {"version": __version__, "platform": platform_versions(), "commands": records}
    write_json(path_of(name), record)
    shutil.rmtree(folder)


# ---- pictures ------------------------------------------------------------------------------------
class Exploited(NamedTuple):
    """What a best response wins from a player.

    Attributes:
        value: Points a deal; of several networks the mean.
        half: Half its interval, 0 where it is exact; of several networks the standard deviation.
        seeds: How many networks.
    """

    value: float
    half: float
    seeds: int

    @classmethod
    def of(cls, records: Sequence[dict[str, Any]]) -> Exploited:
        """What records of ``hearts exploit`` say, which differ in the seed."""
        values = [record["exploitability"] for record in records]
        gain, half = records[0].get("gains", [{}])[0], 0.0
        if len(values) > 1:
            half = statistics.stdev(values)
        elif gain.get("attacker") == "best_response":
            half = (gain["ci95"][1] - gain["ci95"][0]) / 2
        return cls(statistics.fmean(values), half, len(values))


INFORMATION_SETS = {
    "micro": 557,
    "mini": 1_234_891,
    "mini_6": 18_541_453,
    "midi": 92_432_933,
    "two_player_16": 7e9,
    "two_player_20": 1e14,
}
"""With seat 0 leading: counted; the last two estimated from 20,000 random lines (at 438f9aa0)."""


def name_of(agent: str) -> str:
    """An attacked player's name; that of a network of the ladder without its seed."""
    kinds = "|".join(_CONFIGS)
    return re.sub(rf"^((?:{kinds})-.*)-\d+$", r"\1", agent.removeprefix("../"))


def exploited(names: Sequence[str] = LADDER) -> dict[str, dict[str, Exploited]]:
    """What is won from each player on each deck, in the order of the files of these names."""
    players: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in names:
        for done in json.loads(path_of(name).read_bytes())["commands"]:
            if done["command"].startswith("hearts exploit"):
                found = done["results"]
                for one in found if isinstance(found, list) else [found]:
                    decks = players.setdefault(name_of(one["agent"]), {})
                    decks.setdefault(one["rules"], []).append(one)
    return {
        name: {deck: Exploited.of(records) for deck, records in decks.items()}
        for name, decks in players.items()
    }


def draw_ladder(path: Path) -> None:
    """Draw how far from perfect players are as the game grows."""
    from hearts_train.measure.display import new_figure, save_figure, styles

    players = exploited()
    del players["equilibrium"]
    decks = {deck for found in players.values() for deck in found}
    sizes = {deck: INFORMATION_SETS[deck] for deck in decks}
    order = sorted(sizes, key=sizes.__getitem__)
    figure = new_figure(8, 5)
    axes = figure.subplots()
    for name, style in styles(list(players)).items():
        at = [deck for deck in order if deck in players[name]]
        found = [players[name][deck] for deck in at]
        axes.errorbar(
            [sizes[deck] for deck in at],
            [one.value for one in found],
            [one.half for one in found],
            label=name,
            **style._asdict(),
            capsize=2,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for deck in order:
        axes.axvline(sizes[deck], color="#dddddd", linewidth=0.8, zorder=0)
        at_top = axes.get_xaxis_transform()
        axes.text(sizes[deck], 1.01, deck, rotation=60, rotation_mode="anchor", transform=at_top)
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("information sets")
    axes.set_ylabel("exploitability, points a deal")
    axes.set_title("How far from perfect, as the game grows", fontsize=11, pad=85)
    figure.legend(loc="outside right center", frameon=False)
    save_figure(figure, path)


def draw_speed(path: Path) -> None:
    """Draw the speeds beside those of other libraries."""
    from bench.speed import Result, draw

    (command,) = json.loads(path_of("speed").read_bytes())["commands"]
    draw([Result(**found) for found in command["results"]], path)


PICTURES = {"ladder": draw_ladder, "speed": draw_speed}
"""Drawn from files of results, each time that they are asked for."""


# ---- trainings -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Training:
    """A config, trained for a number of decisions (so that a seed gives the same player)."""

    config: str
    rules: str
    decisions: int
    opponents: tuple[str, ...]
    deals: int
    settings: tuple[str, ...] = ()
    """What differs from the config."""


_PPO = (
    "env.observation=recall",
    "network.trunk=[256]",
    "ema_decay=0.995",
    "ppo.magnet_coef=0.05",
    "ppo.gae_lambda=1",
    "ppo.learning_rate=0.001",
    "evaluation.times=5",
    "evaluation.opponents=[]",
)
_LONG = (
    "threads=1",
    "env.num_envs=1024",
    "ema_decay=0.998",
    "ppo.batch_size=1024",
    "ppo.learning_rate_end=0.00001",
    "evaluation.times=6",
)
TRAININGS = {
    "demo": Training(
        "demo", "two_player", 16_000_000, ("easy", "standard", "standard_trump", "pro"), 5_000
    ),
    "classic": Training("classic", "classic", 8_000_000, ("easy", "standard"), 10_000),
    "mini_ppo": Training("mini", "mini", 10_000_000, ("pimc",), 5_000, _PPO),
    "mini_vrpo": Training("mini_selfplay", "mini", 10_000_000, ("pimc",), 5_000),
    "mini_ppo_long": Training(
        "mini", "mini", 60_000_000, ("pimc",), 5_000, (*_PPO, *_LONG, "ppo.ent_coef_end=0.003")
    ),
    "mini_vrpo_long": Training(
        "mini_selfplay", "mini", 60_000_000, ("pimc",), 5_000, (*_LONG, "ppo.ent_coef_end=0.0005")
    ),
    "mini_vrpo_longer": Training(
        "mini_selfplay",
        "mini",
        100_000_000,
        ("pimc",),
        5_000,
        (*_LONG, "ppo.ent_coef_end=0.0005", "evaluation.times=10"),
    ),
}


def train(figure: str, seed: int) -> None:
    """Train a config for its budget in decisions, evaluate the player, and write its file."""
    from hearts_train.learn.config_files import load_config
    from hearts_train.learn.log import read_metrics
    from hearts_train.learn.training import train as train_player
    from hearts_train.measure.evaluation import evaluate

    training, name = TRAININGS[figure], f"{figure}-{seed}"
    settings = [f"seed={seed}", f"budget.decisions={training.decisions}", "budget.minutes=null"]
    settings += training.settings
    words = [word for setting in settings for word in ("--set", setting)]
    command = shlex.join(["hearts", "train", training.config, *words])
    run = WORK / name
    if (run / "config.yaml").exists():
        trained = train_player(None, None, run)
    else:
        WORK.mkdir(parents=True, exist_ok=True)
        trained = train_player(load_config(training.config, settings), run)
    if not trained.is_finished:
        raise KeyboardInterrupt
    # Deals of seed 1: other ones than those of the learning curve.
    rules, opponents = Rules.preset(training.rules), list(training.opponents)
    found = evaluate(str(run), opponents, rules, training.deals, 1, command=command)
    if len(found) < len(opponents) or found[-1].interrupted:
        raise KeyboardInterrupt
    records = [evaluation.to_json() | {"agent": name} for evaluation in found]
    for record in records:
        record["agents"][0] |= {"name": name, "spec": None}
    figures: dict[str, Any] = {"config": training.config, "seed": seed, "command": command}
    figures |= {"decisions": trained.decisions, "seconds": trained.seconds, "evaluations": records}
    rows = [row for row in read_metrics(run) if row["kind"] == "exploitability"]
    write_json(path_of(name), figures | {"exploitability": rows})


# ---- the command ---------------------------------------------------------------------------------
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Measure the figures of the docs.")
    parser.add_argument("names", nargs="*", help="figures; none: all but trainings")
    parser.add_argument("--seeds", default="0,1,2,3,4", help="of trainings")
    parser.add_argument("--list", action="store_true", help="say what there is")
    given = parser.parse_args(arguments)
    names = [*COMMANDS, *EVALUATIONS, *TRAININGS, "ladder"]
    if given.list:
        for name in names:
            seeds = [path.stem.rpartition("-")[2] for path in RESULTS.glob(f"{name}-[0-9].json")]
            state = f"seeds done: {', '.join(sorted(seeds)) or 'none'}"
            if name not in TRAININGS:
                file = IMAGES / "ladder.png" if name == "ladder" else path_of(name)
                state = "done" if file.exists() else "to do"
            print(f"{name:24} {state}")
        return 0
    for name in given.names:
        if name not in names:
            print(f"{name}: unknown; known: {', '.join(names)}", file=sys.stderr)
            return 2
    RESULTS.mkdir(exist_ok=True)
    try:
        with interruptible():
            for name in given.names or [*COMMANDS, *EVALUATIONS]:
                if name in TRAININGS:
                    for seed in map(int, given.seeds.split(",")):
                        if not path_of(f"{name}-{seed}").exists():
                            train(name, seed)
                elif not path_of(name).exists() and name in COMMANDS:
                    run_commands(name)
                elif not path_of(name).exists() and name in EVALUATIONS:
                    evaluate(name)
                if name in PICTURES:
                    PICTURES[name](IMAGES / f"{name}.png")
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
