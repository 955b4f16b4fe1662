"""Measures what the documentation says of players' strength, into ``docs/results``.

Every strength in the docs and in README comes from these files, by ``docs/tables.py``. Each file is
written whole when its figure is done; what is there already is not measured again, so that the
command can be stopped and started at will (half-done figures lie in ``build/figures``).

    python docs/figures.py                 the players of the package, cheap ones first (hours)
    python docs/figures.py NAME ...        some of them, like standard-easy or exploit
    python docs/figures.py demo            five trainings of `hearts train demo`, seeds 0 to 4
    python docs/figures.py demo --seeds 2  one of them; likewise classic, arm_magnet
    python docs/figures.py --list          what there is
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearts_agents import make_agent
from hearts_env import Game, Rules, __version__
from hearts_env.support.files import write_json, write_whole
from hearts_train import console
from hearts_train.command.reports import prepare
from hearts_train.measure.evaluation import Contest, platform_versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
WORK = ROOT / "build" / "figures"


@dataclass(frozen=True)
class Training:
    """A recipe, trained for a number of decisions (so that a seed gives the same player)."""

    recipe: str
    rules: str
    decisions: int
    opponents: tuple[str, ...]
    deals: int
    seed: int = 1
    """Of the deals: other ones than those of the learning curve."""
    settings: tuple[str, ...] = ()
    """What differs from the recipe."""


TRAININGS = {
    "demo": Training(
        "demo", "two_player", 16_000_000, ("easy", "standard", "standard_trump", "pro"), 5_000
    ),
    "classic": Training("classic", "classic", 8_000_000, ("easy", "standard"), 10_000),
}

_ARM = (
    "env.observation=ranked",
    "evaluation.times=4",
    "evaluation.opponents=[]",
    "evaluation.exploitability=true",
)
_ENTROPY = ("ppo.ent_coef=0.05", "ppo.ent_coef_end=0.0005")
_ARMS = {
    "plain": ("ppo.ent_coef=0.003", "ppo.ent_coef_end=0.0003"),
    "entropy": _ENTROPY,
    "average": (*_ENTROPY, "ema_decay=0.995"),
    "magnet": (*_ENTROPY, "ema_decay=0.995", "ppo.magnet_coef=0.05"),
    "monte_carlo": ("algorithm=monte_carlo",),
    "dqn": ("algorithm=dqn",),
    "nfsp": (
        "algorithm=nfsp",
        "dqn.epsilon=0.02",
        "dqn.epsilon_end=0",
        "dqn.target_every=25",
        "nfsp.eta=0.5",
        "nfsp.reservoir=50000",
        "nfsp.min_reservoir_prob=0.25",
        "nfsp.learning_rate=0.005",
        "nfsp.learning_rate_end=0.0001",
    ),
    "maskable": ("algorithm=maskable_ppo", *_ENTROPY),
}
"""Ways of learning ``mini``, with the same budget: what they differ in."""

TRAININGS |= {
    f"arm_{name}": Training("mini", "mini", 2_000_000, ("pimc",), 5_000, settings=_ARM + settings)
    for name, settings in _ARMS.items()
}

COMMANDS = {
    "exploit-champion": [
        "exploit champion champion?greedy=true champion?endgame_tricks=4 --rules mini"
    ],
    "exploit": ["exploit random standard pro pimc equilibrium --rules micro,mini"],
    "calibrate": ["bench calibrate pro --model pro,standard --deals 200"],
    "complexity": ["bench complexity"],
    "matches": [
        "evaluate match --unit match --opponents pimc --deals 1500 --totals 80,60",
        "evaluate match --unit match --opponents pimc --deals 1200",
    ],
    "matches-champion": [
        "evaluate champion?search=16&match=true --unit match --opponents champion?search=16 "
        "--deals 400 --totals 80,60"
    ],
    "endgame": ["endgame pro-pro.txt --model pro --agent standard,pro,pimc"],
    "attack-champion": [
        f"exploit {agent} --attackers belief,lbr_endings --tricks 4 --deals {deals}"
        for agent, deals in (("champion", 1_000), ("champion?greedy=false", 300))
    ],
    "attack-micro": [
        f"exploit {agent} --rules micro --attackers belief,lbr,endings,lbr_endings"
        for agent in ("standard", "pro", "pimc", "equilibrium")
    ],
    "attack-mini": [
        "train mini --run network",
        *(
            f"exploit {agent} --rules mini --attackers all --seconds 60 --run against-{agent}"
            for agent in ("standard", "pro", "pimc", "network", "equilibrium")
        ),
    ],
    **{
        f"attack-{agent}": [
            f"exploit {'../' * (agent == 'demo-0')}{agent} --attackers {attackers} --deals {deals} "
            "--seconds 120"
        ]
        for agent, attackers, deals in (
            ("standard", "all", 200),
            ("demo-0", "all", 200),
            ("pro", "belief,endings,lbr_endings,trained", 100),
            ("pimc", "belief,endings,lbr_endings,trained", 40),
        )
    },
}
"""Figures that are what a command of ``hearts``, or of ``python -m bench``, prints with ``--json``.

Each has a folder of its own in `WORK`, empty at first; ``../demo-0`` is a player that was trained
before.
"""

HISTORIES = 100
"""Deals of ``pro`` against itself, of which the last tricks are solved."""


@dataclass(frozen=True)
class Figure:
    """One agent against another on two-player deals; the interval comes out of their number.

    Quick players get +-0.03, searching players what a quarter of an hour allows.
    """

    agent: str
    opponent: str
    deals: int
    seed: int = 0
    rules: str = "two_player"

    @property
    def name(self) -> str:
        """Of the file, without its suffix."""
        agent = re.sub(r"\?(search|small)=\w+", r"_\1", self.agent)
        agent = agent.replace("?greedy=false", "_drawn")
        return f"{agent}-{self.opponent}" + f"-{self.rules}" * (self.rules != "two_player")

    @property
    def command(self) -> str:
        """The command line that measures the same."""
        return shlex.join(
            f"hearts evaluate {self.agent} --opponents {self.opponent} --deals {self.deals} "
            f"--seed {self.seed} --rules {self.rules} --json".split()
        )


FIGURES = [
    Figure("standard", "easy", 400_000),
    Figure("standard_trump", "standard", 200_000),
    Figure("pro", "standard", 200_000),
    Figure("pro", "easy", 240_000),
    Figure("pro", "standard_trump", 280_000),
    Figure("pro_trump", "pro", 50_000),
    Figure("pimc", "pro", 50_000, seed=1),
    Figure("pimc_belief", "pimc", 400, seed=1),
    Figure("pimc_belief", "pro", 400, seed=1),
    Figure("champion", "pimc", 20_000, seed=1),
    Figure("champion", "pro", 20_000, seed=1),
    Figure("champion", "standard", 20_000, seed=1),
    Figure("champion?greedy=false", "champion", 20_000, seed=1),
    Figure("champion?small=true", "champion", 20_000, seed=1),
    Figure("champion?small=true", "pimc", 20_000, seed=1),
    Figure("champion?search=50ms", "pimc", 1_000, seed=3),
    Figure("champion?search=50ms", "champion", 500, seed=3),
    Figure("champion", "pimc", 20_000, seed=1, rules="mini"),
    Figure("champion", "equilibrium", 20_000, seed=1, rules="mini"),
    Figure("champion", "standard", 10_000, seed=1, rules="classic"),
    Figure("champion", "pro", 250, seed=1, rules="classic"),
]


def path_of(name: str) -> Path:
    """Where the results of this name lie."""
    return RESULTS / f"{name}.json"


def trained_files(recipe: str) -> list[Path]:
    """The files of results of all trainings of a recipe."""
    return sorted(RESULTS.glob(f"{recipe}-[0-9]*.json"))


def measure(figure: Figure) -> None:
    """Play a figure's deals, from where it was stopped, and write its file."""
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / f"{figure.name}.jsonl"
    contest = Contest(
        [figure.agent, figure.opponent],
        Rules.preset(figure.rules),
        figure.seed,
        command=figure.command,
    )
    prepare(contest)
    is_begun = kept.exists()
    out, resume = (None, kept) if is_begun else (kept, None)
    with contest.recorded(figure.deals, out, resume):
        [result] = contest.evaluations(figure.deals, lambda *_: console.progress(figure.name))
    if result.interrupted:
        raise KeyboardInterrupt
    write(figure.name, result.to_json())
    console.note(f"{figure.name}: {result.margin:+.3f} {result.ci95}")


def run_commands(name: str) -> None:
    """Run the commands of a figure, and write what they print."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if any("pro-pro.txt" in command for command in COMMANDS[name]):
        write_whole(folder / "pro-pro.txt", "\n".join(pro_against_itself()).encode())
    records = []
    for command in COMMANDS[name]:
        words = command.split()
        is_bench = words[0] == "bench"
        module = "bench.__main__" if is_bench else "hearts_train.command.cli"
        words = words[is_bench:]
        code = f"from {module} import app; app()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words, "--json"],
            stdout=subprocess.PIPE,
            check=True,
            cwd=folder,
        )
        typed = shlex.join([*(["python", "-m", "bench"] if is_bench else ["hearts"]), *words])
        records.append({"command": typed, "results": json.loads(done.stdout)})
    write(name, {"version": __version__, "platform": platform_versions(), "commands": records})


def pro_against_itself() -> Iterator[str]:
    """The hand histories of deals that ``pro`` played against itself."""
    pro = make_agent("pro")
    for seed in range(HISTORIES):
        game = Game.deal("two_player", seed)
        while game.player is not None:
            game.play(pro.act(game.view(game.player)))
        yield game.to_text()


def train(figure: str, seed: int) -> None:
    """Train a recipe for its budget in decisions, evaluate the player, and write its file."""
    from hearts_train.command.reports import evaluate_against
    from hearts_train.learn.config_files import load_config
    from hearts_train.learn.log import read_metrics
    from hearts_train.learn.training import train as train_player

    training = TRAININGS[figure]
    settings = [f"seed={seed}", f"budget.decisions={training.decisions}", "budget.minutes=null"]
    settings += training.settings
    words = [word for setting in settings for word in ("--set", setting)]
    command = shlex.join(["hearts", "train", training.recipe, *words])
    name = f"{figure}-{seed}"
    run = WORK / name
    if (run / "config.yaml").exists():
        trained = train_player(None, None, run)
    else:
        WORK.mkdir(parents=True, exist_ok=True)
        trained = train_player(load_config(training.recipe, settings), run)
    if not trained.is_finished:
        raise KeyboardInterrupt
    opponents = list(training.opponents)
    rules = Rules.preset(training.rules)
    evaluations = evaluate_against(
        str(run), opponents, rules, training.deals, training.seed, command=command
    )
    if len(evaluations) < len(opponents) or evaluations[-1].interrupted:
        raise KeyboardInterrupt
    records = []
    for evaluation in evaluations:
        record = evaluation.to_json() | {"agent": name}
        record["agents"][0] |= {"name": name, "spec": None}
        records.append(record)
    write(
        name,
        {
            "recipe": training.recipe,
            "seed": seed,
            "decisions": trained.decisions,
            "seconds": trained.seconds,
            "command": command,
            "evaluations": records,
            "exploitability": [row for row in read_metrics(run) if row["kind"] == "exploitability"],
        },
    )


def write(name: str, record: dict[str, Any]) -> None:
    """Write a file of results."""
    RESULTS.mkdir(exist_ok=True)
    write_json(path_of(name), record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; returns the exit status."""
    from hearts_env.support.interrupts import interruptible

    parser = argparse.ArgumentParser(description="Measure the figures of the docs.")
    parser.add_argument("names", nargs="*", help="figures; none: all but trainings")
    parser.add_argument("--seeds", default="0,1,2,3,4", help="of trainings")
    parser.add_argument("--list", action="store_true", help="say what there is")
    given = parser.parse_args(arguments)
    known = {figure.name: figure for figure in FIGURES}
    names = [*COMMANDS, *known, *TRAININGS]
    if given.list:
        for name in [*COMMANDS, *known]:
            print(f"{name:24} {'done' if path_of(name).exists() else 'to do'}")
        for name in TRAININGS:
            seeds = [path.stem.rpartition("-")[2] for path in trained_files(name)]
            print(f"{name:24} seeds done: {', '.join(seeds) or 'none'}")
        return 0
    for name in given.names:
        if name not in names:
            print(f"{name}: unknown; known: {', '.join(names)}", file=sys.stderr)
            return 2
    try:
        with interruptible():
            for name in given.names or [*COMMANDS, *known]:
                if name in TRAININGS:
                    for seed in map(int, given.seeds.split(",")):
                        if not path_of(f"{name}-{seed}").exists():
                            train(name, seed)
                elif not path_of(name).exists():
                    if name in COMMANDS:
                        run_commands(name)
                    else:
                        measure(known[name])
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
