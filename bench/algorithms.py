"""Which way of learning finds equilibrium play: exact distances of many trainings on a small deck.

    python bench/algorithms.py draws                   drawn settings of every algorithm, on mini
    python bench/algorithms.py best --of draws --decisions 10000000     the best of each once more
    python bench/algorithms.py best --of draws --decisions 10000000 --rules mini_6
    python bench/algorithms.py draws best --out docs/results/algorithms.json --plot algorithms.png

Every algorithm has the same games, network and budget. Its settings are drawn from the ranges in
`ALGORITHMS`; what is drawn depends on the algorithm and on the number of the draw alone. A run is a
file of its folder with its settings, versions and curve: what was finished is not trained again,
whatever was killed, and other runs can be added at will. They are taken in an order that leaves a
balanced table wherever it ends: one draw of every algorithm with every seed, then the next. On
many machines (``--backend ray``) they must share the folder.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import statistics
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":  # the folder of this package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import harness
from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.files import write_json, writing_whole
from hearts_env.support.interrupts import interruptible
from hearts_train.executor import BACKENDS, check_executor, spread
from hearts_train.learn.config_files import load_config
from hearts_train.learn.training import distances, make_learner
from hearts_train.measure.display import new_figure
from hearts_train.measure.evaluation import platform_versions
from hearts_train.measure.exploitability import tree_of
from hearts_train.measure.statistics import aggregate

Settings = dict[str, Any]

FRESH = 100
"""The first seed of those by which nothing was chosen."""


# ---- what is drawn -------------------------------------------------------------------------------
class Log(NamedTuple):
    """A number whose logarithm is uniform between two bounds."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        """A number of two significant digits."""
        return float(f"{math.exp(rng.uniform(math.log(self.low), math.log(self.high))):.2g}")


class One(tuple[Any, ...]):
    """One of some values."""

    def draw(self, rng: np.random.Generator) -> Any:
        """Each is as likely."""
        return self[int(rng.integers(len(self)))]


@dataclass(frozen=True)
class Contestant:
    """An algorithm of the comparison."""

    meaning: str
    fixed: Settings
    ranges: dict[str, Log | One]
    ties: dict[str, tuple[str, float]]
    """Settings that are another one's value times a number."""

    def draw(self, name: str, number: int) -> Settings:
        """The settings of a draw: the same ones in every process and on every machine."""
        rng = np.random.default_rng([zlib.crc32(name.encode()), number])
        drawn = {key: each.draw(rng) for key, each in self.ranges.items()}
        for key, (other, factor) in self.ties.items():
            drawn[key] = float(f"{factor * drawn[other]:.2g}")
        return self.fixed | drawn


COMMON: Settings = {
    "threads": 1,
    "env.observation": "recall",
    "env.reward": "trick",
    "env.num_envs": 512,
    "ppo.num_steps": 8,
    "network.trunk": [128, 64],
    "network.policy": [],
    "network.value": [],
}
"""The same for all: the deck as the network sees it, and the network."""

_STEP = Log(1e-3, 1e-2)
_AVERAGE = [0.9, 0.97, 0.99]
_GRADIENT = {
    "ppo.learning_rate": _STEP,
    "ppo.batch_size": One([256, 512, 1024]),
    "ppo.gae_lambda": One([0.9, 0.95, 1.0]),
}
_EPOCHS = {"ppo.num_epochs": One([1, 2, 4])}
_REPLICATOR = {
    "ppo.num_epochs": One([1, 2]),
    "neurd.logit_limit": One([2.0, 4.0]),
    "neurd.min_prob": One([0.1, 0.3, 1.0]),
    "ema_decay": One([0.0, *_AVERAGE]),
}
_VALUES = {"ppo.learning_rate": _STEP, "ppo.batch_size": One([512, 1024, 2048])}
_REPLAY = {
    "dqn.epsilon": Log(0.01, 0.3),
    "dqn.buffer_size": One([50_000, 200_000]),
    "dqn.target_every": One([25, 100, 400]),
}
_SMALLER = {"ppo.learning_rate_end": ("ppo.learning_rate", 0.03)}
_ANNEALED = _SMALLER | {"ppo.ent_coef_end": ("ppo.ent_coef", 0.1)}

ALGORITHMS = {
    "ppo": Contestant(
        "PPO, constant entropy bonus",
        {"ppo.ent_coef_end": None},
        _GRADIENT | _EPOCHS | {"ppo.ent_coef": Log(1e-3, 0.3)},
        _SMALLER,
    ),
    "magnet": Contestant(
        "PPO, falling entropy bonus, pull to the average of its weights",
        {},
        _GRADIENT
        | _EPOCHS
        | {
            "ppo.ent_coef": Log(0.02, 0.3),
            "ema_decay": One(_AVERAGE),
            "ppo.magnet_coef": Log(0.01, 0.3),
        },
        _ANNEALED,
    ),
    "mmd": Contestant(
        "MMD: no clip, pull to the policy of play, falling entropy bonus",
        {"ppo.clip_range": None},
        _GRADIENT
        | _EPOCHS
        | {
            "ppo.kl_coef": Log(0.03, 3.0),
            "ppo.ent_coef": Log(0.02, 0.3),
            "ema_decay": One([0.0, *_AVERAGE]),
        },
        _ANNEALED,
    ),
    "neurd": Contestant(
        "NeuRD, falling entropy bonus",
        {"algorithm": "neurd"},
        _GRADIENT | _REPLICATOR | {"ppo.ent_coef": Log(0.005, 0.2)},
        _ANNEALED,
    ),
    "r_nad": Contestant(
        "R-NaD",
        {"algorithm": "r_nad", "ppo.ent_coef": 0.0, "ppo.ent_coef_end": None},
        _GRADIENT
        | _REPLICATOR
        | {"r_nad.eta": Log(0.003, 0.1), "r_nad.reference_every": One([10, 30, 100])},
        _SMALLER,
    ),
    "nfsp": Contestant(
        "NFSP",
        {"algorithm": "nfsp", "dqn.epsilon_end": 0.0},
        _VALUES
        | _REPLAY
        | {
            "nfsp.eta": One([0.1, 0.2, 0.5]),
            "nfsp.reservoir": One([50_000, 200_000, 1_000_000]),
            "nfsp.min_reservoir_prob": One([0.0, 0.1, 0.25]),
            "nfsp.learning_rate": _STEP,
        },
        _SMALLER | {"nfsp.learning_rate_end": ("nfsp.learning_rate", 0.03)},
    ),
    "escher": Contestant(
        "ESCHER",
        {"algorithm": "escher"},
        _VALUES
        | {
            "dqn.buffer_size": One([20_000, 50_000]),
            "dqn.target_every": One([25, 100]),
            "nfsp.reservoir": One([50_000, 200_000]),
            "nfsp.min_reservoir_prob": One([0.1, 0.25, 0.5]),
            "nfsp.learning_rate": _STEP,
        },
        _SMALLER | {"nfsp.learning_rate_end": ("nfsp.learning_rate", 0.03)},
    ),
    "monte_carlo": Contestant(
        "Deep Monte Carlo",
        {"algorithm": "monte_carlo"},
        _VALUES | _EPOCHS | {"monte_carlo.epsilon": Log(0.01, 0.3)},
        _SMALLER,
    ),
    "dqn": Contestant("DQN, double", {"algorithm": "dqn"}, _VALUES | _REPLAY, _SMALLER),
}
"""By name, in the order in which they are trained."""


# ---- one run -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Run:
    """A training: all that its result follows from."""

    algorithm: str
    draw: int
    seed: int
    rules: str
    decisions: int
    points: int
    """How often its distance is measured, evenly over the budget."""
    settings: Settings

    def path(self, folder: Path) -> Path:
        """Its file."""
        deck = self.rules.replace(" ", "_").replace("=", "-")
        return folder / f"{self.algorithm}-{deck}-{self.decisions}-{self.draw}-{self.seed}.json"


def train(run: Run, folder: Path) -> dict[str, Any]:
    """Train, and measure on the way; writes the run's file, and returns what is in it."""
    given = {"name": run.algorithm, "seed": run.seed, "env.rules": run.rules} | run.settings
    given |= {"budget.decisions": run.decisions, "budget.minutes": None, "evaluation.opponents": []}
    words = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    learner = make_learner(load_config(None, words))
    learner.warm_up()
    curve: list[dict[str, float]] = []
    measuring = 0.0
    while learner.progress < 1.0:
        learner.update()
        if learner.progress >= (len(curve) + 1) / run.points:
            begin = time.perf_counter()
            found = distances(learner, tree_of(learner.rules))
            measuring += time.perf_counter() - begin
            curve.append({"decisions": learner.counters.decisions} | found)
    record = asdict(run) | {
        "curve": curve,
        "seconds": learner.counters.learning_seconds,
        "measuring_seconds": measuring,
        "version": __version__,
        "platform": platform_versions(),
    }
    write_json(run.path(folder), record)
    return record


def played(record: dict[str, Any]) -> float:
    """The distance of the player at the end: of drawn cards, where there is a policy to draw by."""
    last = record["curve"][-1]
    return float(last.get("drawn", last["preferred"]))


def read(folder: Path) -> list[dict[str, Any]]:
    """The finished runs of a folder, by name."""
    files = sorted(folder.glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in files]


# ---- which runs ----------------------------------------------------------------------------------
def sweep(draws: int, seeds: int, like: Run) -> Iterator[Run]:
    """Drawn settings of every algorithm, each with every seed."""
    for draw in range(draws):
        for seed in range(seeds):
            for name, one in ALGORITHMS.items():
                settings = COMMON | one.draw(name, draw)
                yield replace(like, algorithm=name, draw=draw, seed=seed, settings=settings)


def again(folder: Path, seeds: int, like: Run) -> Iterator[Run]:
    """The best draw of every algorithm in a folder, with seeds that chose nothing."""
    records = read(folder)
    if not records:
        raise HeartsError(f"--of: no finished run in {folder}; train draws there first")
    best = best_draws(records)
    for seed in range(FRESH, FRESH + seeds):
        for name, draw in best.items():
            settings = next(
                r["settings"] for r in records if (r["algorithm"], r["draw"]) == (name, draw)
            )
            yield replace(like, algorithm=name, draw=draw, seed=seed, settings=settings)


def best_draws(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The draw of each algorithm that is least exploitable, on average over seeds.

    Only draws with as many seeds as any other of the algorithm count.
    """
    found: dict[str, dict[int, list[float]]] = {}
    for record in records:
        draws = found.setdefault(record["algorithm"], {})
        draws.setdefault(record["draw"], []).append(played(record))
    best = {}
    for name in (name for name in ALGORITHMS if name in found):
        most = max(map(len, found[name].values()))
        means = {d: sum(v) / len(v) for d, v in found[name].items() if len(v) == most}
        best[name] = min(means, key=means.__getitem__)
    return best


def finish(runs: Iterator[Run], folder: Path, minutes: float, executor: tuple[Any, str]) -> int:
    """Train those that are not finished, until the time is over; returns how many are left."""
    folder.mkdir(parents=True, exist_ok=True)
    left = [run for run in runs if not run.path(folder).exists()]
    end, started = time.monotonic() + 60 * minutes, 0

    def in_time() -> Iterator[Run]:
        nonlocal started
        for run in left:
            if time.monotonic() > end:
                return
            started += 1
            yield run

    work = functools.partial(train, folder=folder)
    for done, record in enumerate(
        spread(work, in_time(), workers=executor[0], backend=executor[1])
    ):
        print(
            f"{done + 1:4} of {len(left)}  {record['algorithm']:12} draw {record['draw']:2} "
            f"seed {record['seed']:3}  {played(record):6.3f}  {record['seconds']:5.0f} s + "
            f"{record['measuring_seconds']:.0f} s",
            flush=True,
        )
    return len(left) - started


# ---- the table -----------------------------------------------------------------------------------
COLUMNS = ("rules", "algorithm", "draw", "seed", "budget", "decisions", "sampled", "preferred")
"""Of the file of all curves: a line is a point of one."""


class Point(NamedTuple):
    """A point of a curve, as a line of that file has it."""

    rules: str
    algorithm: str
    draw: int
    seed: int
    budget: int
    decisions: int
    sampled: float | None
    """None: the player draws no cards."""
    preferred: float

    @property
    def distance(self) -> float:
        """Of the player as it plays."""
        return self.preferred if self.sampled is None else self.sampled

    @property
    def is_last(self) -> bool:
        """Whether it is the end of its curve."""
        return self.decisions >= self.budget


def gather(folders: Sequence[Path], out: Path) -> None:
    """Write what the runs of some folders found: settings to `out`, curves to a table beside it."""
    records = [record for folder in folders for record in read(folder)]
    if not records:
        raise HeartsError(f"folders: no finished run in {', '.join(map(str, folders))}")
    algorithms = {}
    for name, one in ALGORITHMS.items():
        own = [r for r in records if r["algorithm"] == name]
        algorithms[name] = {
            "meaning": one.meaning,
            "ranges": {key: list(each) for key, each in one.ranges.items()},
            "best_draw": best_draws([r for r in own if r["seed"] < FRESH]).get(name),
            "draws": {r["draw"]: one.draw(name, r["draw"]) for r in own},
            "seconds": {
                f"{rules} {budget}": round(statistics.median(seconds), 1)
                for (rules, budget), seconds in times_of(own).items()
            },
        }
    lines = sorted(
        (
            Point(
                r["rules"],
                r["algorithm"],
                r["draw"],
                r["seed"],
                r["decisions"],
                int(point["decisions"]),
                round(point["drawn"], 4) if "drawn" in point else None,
                round(point["preferred"], 4),
            )
            for r in records
            for point in r["curve"]
        ),
        key=lambda point: (point[0], point[4], *point[1:4], point[5]),
    )
    with writing_whole(out.with_suffix(".csv")) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([COLUMNS, *lines])
        text.flush()
        text.detach()
    harness.write(out, {"common": COMMON, "algorithms": algorithms})


def times_of(records: Sequence[dict[str, Any]]) -> dict[tuple[str, int], list[float]]:
    """The seconds of runs, by deck and budget."""
    found: dict[tuple[str, int], list[float]] = {}
    for record in records:
        found.setdefault((record["rules"], record["decisions"]), []).append(record["seconds"])
    return found


def points_of(path: Path) -> list[Point]:
    """The points of a file of curves."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(
                row["rules"],
                row["algorithm"],
                *(int(row[name]) for name in COLUMNS[2:6]),
                float(row["sampled"]) if row["sampled"] else None,
                float(row["preferred"]),
            )
            for row in csv.DictReader(file)
        ]


def middle(scores: Sequence[Sequence[float]]) -> str:
    """The interquartile mean of runs, with the 95 % interval of the bootstrap over them.

    Of fewer than five, which the bootstrap cannot tell much of: their mean, the least and the most.
    """
    if len(scores) < 5:
        found = sorted(statistics.fmean(score) for score in scores)
        return f"{statistics.fmean(found):.3f} [{found[0]:.3f}, {found[-1]:.3f}]" if found else ""
    value, (low, high) = aggregate(np.array(scores))
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def over_draws(points: Sequence[Point], name: str) -> list[list[float]]:
    """How exploitable an algorithm's players are, by draw and seed; all draws have all seeds."""
    found: dict[int, list[float]] = {}
    for point in points:
        if point.algorithm == name and point.is_last and point.seed < FRESH:
            found.setdefault(point.draw, []).append(point.distance)
    most = max(map(len, found.values()), default=0)
    return [distances for distances in found.values() if len(distances) == most]


def once_more(points: Sequence[Point], name: str, rules: str, what: str) -> list[list[float]]:
    """The same of its best draw with fresh seeds: `what` is a field of a `Point`."""
    return [
        [value]
        for point in points
        if (point.algorithm, point.rules) == (name, rules)
        and point.is_last
        and point.seed >= FRESH
        and (value := getattr(point, what)) is not None
    ]


def draw(points: Sequence[Point], path: Path) -> None:
    """Draw every draw of every algorithm, and the curves of the best ones, into a file."""
    figure = new_figure(9.0, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    names = [name for name in ALGORITHMS if any(p.algorithm == name for p in points)]
    for place, name in enumerate(names):
        colour = f"C{place}"
        all_draws = [d for draws in over_draws(points, name) for d in draws]
        left.plot([place] * len(all_draws), all_draws, "o", color=colour, alpha=0.5, ms=4)
        curves: dict[int, list[float]] = {}
        for point in points:
            if point.algorithm == name and point.rules == "mini" and point.seed >= FRESH:
                curves.setdefault(point.decisions, []).append(point.distance)
        ends = sorted(curves)
        if ends:
            means = [statistics.fmean(curves[end]) for end in ends]
            lows, highs = [min(curves[end]) for end in ends], [max(curves[end]) for end in ends]
            millions = [end / 1e6 for end in ends]
            right.plot(millions, means, color=colour, marker=".", label=name)
            right.fill_between(millions, lows, highs, color=colour, alpha=0.15, lw=0)
    left.set_xticks(range(len(names)), names, rotation=45, ha="right")
    left.set(yscale="log", ylabel="exploitability, points a deal", title="drawn settings")
    left.set_yticks([0.1, 0.2, 0.5, 1.0, 2.0, 5.0], ["0.1", "0.2", "0.5", "1", "2", "5"])
    left.minorticks_off()
    right.set(xlabel="million decisions", title="the best of each, fresh seeds")
    if right.lines:
        right.legend(fontsize="small")
    figure.savefig(path, dpi=110)


# ---- the command ---------------------------------------------------------------------------------
def main(arguments: Sequence[str] | None = None) -> int:
    """Train what is asked for, or gather it; returns the exit status."""
    parser = harness.options(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="of runs; one, but for --out")
    parser.add_argument("--of", type=Path, help="a folder of draws: the best of them again")
    parser.add_argument("--only", default="", help="algorithms, joined by commas; none: all")
    parser.add_argument("--rules", default="mini", help="the deck")
    parser.add_argument("--decisions", type=int, default=3_000_000)
    parser.add_argument("--points", type=int, default=4, help="of each curve")
    parser.add_argument("--draws", type=int, default=10, help="of each algorithm's settings")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after these")
    parser.add_argument("--workers", type=int, help="processes; none: this one")
    parser.add_argument("--backend", default="local", choices=BACKENDS)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --out: a picture")
    given = parser.parse_args(arguments)
    like = Run("", 0, 0, given.rules, given.decisions, given.points, {})
    names = given.only.split(",") if given.only else list(ALGORITHMS)
    try:
        if given.out is not None:
            gather(given.folders, given.out)
            if given.plot is not None:
                draw(points_of(given.out.with_suffix(".csv")), given.plot)
            return 0
        unknown = [name for name in names if name not in ALGORITHMS]
        if unknown:
            raise HeartsError(f"--only: {unknown[0]!r} is none of {', '.join(ALGORITHMS)}")
        Rules.make(given.rules)
        executor = check_executor(given.workers, given.backend)
        runs = (
            again(given.of, given.seeds, like)
            if given.of
            else sweep(given.draws, given.seeds, like)
        )
        chosen = (run for run in runs if run.algorithm in names)
        with interruptible():
            left = finish(chosen, given.folders[0], given.minutes, executor)
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return 130
    except HeartsError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{left} runs left" if left else "all runs are finished")
    return 0


if __name__ == "__main__":
    sys.exit(main())
