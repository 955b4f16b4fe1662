"""Which way of learning finds equilibrium play: exact distances of many trainings on a small deck.

    python bench/algorithms.py                   climbs the rungs of `RUNGS`, on mini
    python bench/algorithms.py --rules mini_6    their winners, on another deck
    python bench/algorithms.py --publish         adds what is finished to the published runs

Every algorithm has the same games, network and budget. Its settings are drawn from the ranges in
`ALGORITHMS`; what is drawn depends on the algorithm and on the number of the draw alone. The best
draws of a rung go on to the next, with a larger budget and in the end with fresh seeds: successive
halving (Jamieson and Talwalkar 2016), for a tenth of what the last budget for all would take. A
finished run is a file of the folder, with its settings, versions and curve, until ``--publish``
adds its curve to ``docs/results/algorithms.csv`` and its settings to the JSON file beside that.
Neither is trained again, so that the comparison grows by whatever is run anywhere. (To train a run
again, delete its lines there; settings that `ALGORITHMS` no longer gives are left out by
themselves.)

Runs are taken in an order that leaves a balanced table wherever it ends: one of every algorithm,
then the next. On many machines (``--backend ray``) the runs must share the folder.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import math
import statistics
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":  # the folder of this package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import harness
from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.files import write_json, writing_whole
from hearts_env.support.interrupts import interruptible
from hearts_train.executor import BACKENDS, Executor, check_executor, spread
from hearts_train.learn.config_files import load_config
from hearts_train.learn.training import distances, make_learner
from hearts_train.measure.display import new_figure, styles
from hearts_train.measure.evaluation import platform_versions
from hearts_train.measure.exploitability import tree_of
from hearts_train.measure.statistics import aggregate

Settings = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "docs" / "results" / "algorithms.json"
"""The settings of the published runs; their curves are beside it, in a CSV file."""
PICTURE = ROOT / "docs" / "images" / "algorithms.png"

DECK = "mini"
"""Where draws are compared."""


class Rung(NamedTuple):
    """A round of the comparison."""

    draws: int
    """How many of each algorithm: the best ones of the rung before."""
    seeds: range
    decisions: int


RUNGS = (
    Rung(10, range(1), 500_000),
    Rung(3, range(1), 3_000_000),
    Rung(1, range(100, 105), 10_000_000),
)
"""In the last one no seed has chosen anything."""
POINTS = 4
"""Of the curve of a run on `DECK`; on others, where it takes longer, its end alone is measured."""


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
"""The same for all: the deck as the network sees it, and the network that plays."""

_STEP = Log(1e-3, 1e-2)
_AVERAGE = [0.9, 0.97, 0.99]
_GRADIENT = {
    "ppo.learning_rate": _STEP,
    "ppo.batch_size": One([256, 512, 1024]),
    "ppo.gae_lambda": One([0.9, 0.95, 1.0]),
}
_EPOCHS = {"ppo.num_epochs": One([1, 2, 4])}
_MAGNET = {
    "ppo.ent_coef": Log(0.02, 0.3),
    "ema_decay": One(_AVERAGE),
    "ppo.magnet_coef": Log(0.01, 0.3),
}
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
        _GRADIENT | _EPOCHS | _MAGNET,
        _ANNEALED,
    ),
    "vrpo": Contestant(
        "VRPO: the same, and a critic of all hands",
        {
            "algorithm": "vrpo",
            "network.value": [128, 64],
            "ppo.normalize_advantage": False,
            "ppo.vf_coef": 0.2,
        },
        _GRADIENT
        | _EPOCHS
        | _MAGNET
        | {"ppo.ent_coef": Log(0.007, 0.1), "ppo.magnet_coef": Log(0.003, 0.1)},
        _ANNEALED,
    ),
    "maskable_ppo": Contestant(
        "MaskablePPO of sb3-contrib: one seat learns, against itself",
        {"algorithm": "maskable_ppo"},
        _GRADIENT | _EPOCHS | {"ppo.ent_coef": Log(0.005, 0.2)},
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
class Run(NamedTuple):
    """A training: all that its result follows from."""

    rules: str
    budget: int
    """Decisions."""
    algorithm: str
    draw: int
    seed: int

    @property
    def settings(self) -> Settings:
        """Those of its draw; none if there is no such algorithm."""
        one = ALGORITHMS.get(self.algorithm)
        return COMMON | one.draw(self.algorithm, self.draw) if one else {}

    def path(self, folder: Path) -> Path:
        """Its file."""
        deck = self.rules.replace(" ", "_").replace("=", "-")
        return folder / f"{self.algorithm}-{deck}-{self.budget}-{self.draw}-{self.seed}.json"


def train(run: Run, folder: Path) -> dict[str, Any]:
    """Train and measure; writes the run's file, and returns its content.

    The seconds are those of playing and learning.
    """
    given = {"name": run.algorithm, "seed": run.seed, "env.rules": run.rules} | run.settings
    given |= {"budget.decisions": run.budget, "budget.minutes": None, "evaluation.opponents": []}
    words = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    learner = make_learner(load_config(None, words))
    learner.warm_up()
    curve: list[dict[str, float]] = []
    points = POINTS if run.rules == DECK else 1
    while learner.progress < 1.0:
        learner.update()
        if learner.progress >= (len(curve) + 1) / points:
            found = distances(learner, tree_of(learner.rules))
            counted = learner.counters
            so_far = {"decisions": counted.decisions, "seconds": counted.learning_seconds}
            curve.append(so_far | found)
    record = run._asdict() | {
        "settings": run.settings,
        "curve": curve,
        "version": __version__,
        "platform": platform_versions(),
    }
    write_json(run.path(folder), record)
    return record


# ---- finished runs -------------------------------------------------------------------------------
class Point(NamedTuple):
    """A point of a run's curve: a line of the file of all curves, whose columns are these."""

    rules: str
    budget: int
    algorithm: str
    draw: int
    seed: int
    decisions: int
    seconds: float | None
    """Of playing and learning so far; None: not kept."""
    sampled: float | None
    """None: the player draws no cards."""
    preferred: float

    @property
    def run(self) -> Run:
        """Whose point it is."""
        return Run(*self[:5])

    @property
    def distance(self) -> float:
        """Of the player as it plays: of drawn cards, where there is a policy to draw by."""
        return self.preferred if self.sampled is None else self.sampled

    @property
    def is_last(self) -> bool:
        """Whether it is the end of its curve."""
        return self.decisions >= self.budget


def published(path: Path) -> list[Point]:
    """The points of published runs whose settings are still those of their draw."""
    if not path.exists():
        return []
    about = json.loads(path.read_text(encoding="utf-8"))
    kept, dropped = [], set()
    with path.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = ("rules", "algorithm")
            point = Point(
                **{k: v if k in words else json.loads(v or "null") for k, v in row.items()}
            )
            draws = about["algorithms"].get(point.algorithm, {"draws": {}})["draws"]
            if about["common"] | draws.get(str(point.draw), {}) == point.run.settings:
                kept.append(point)
            else:
                dropped.add((point.algorithm, point.draw))
    for name, draw in sorted(dropped):
        print(f"{path}: draw {draw} of {name} had other settings: left out", file=sys.stderr)
    return kept


def finished(folder: Path, path: Path) -> list[Point]:
    """The points of all finished runs, published or in a folder, in the order of runs."""
    found = {(*point.run, point.decisions): point for point in published(path)}
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        run = Run(*(record[name] for name in Run._fields))
        if record["settings"] != run.settings:
            print(f"{file}: not the settings of that draw now: left out", file=sys.stderr)
            continue
        for at in record["curve"]:
            drawn = round(at["drawn"], 4) if "drawn" in at else None
            times = int(at["decisions"]), round(at["seconds"], 1)
            found[*run, times[0]] = Point(*run, *times, drawn, round(at["preferred"], 4))
    return [found[key] for key in sorted(found)]


def ends_of(points: Sequence[Point], runs: Sequence[Run]) -> list[Point]:
    """The ends of these runs, as far as they are finished, by draw and seed."""
    wanted = set(runs)
    return sorted(point for point in points if point.is_last and point.run in wanted)


def ends(points: Sequence[Point], name: str, number: int, rules: str) -> list[Point]:
    """The ends of an algorithm's runs of a rung; none before it is reached."""
    return ends_of(points, runs_of(points, name, number, rules))


def over_seeds(runs: Sequence[Point]) -> dict[int, float]:
    """The mean distance of each draw, the best first."""
    draws: dict[int, list[float]] = {}
    for run in runs:
        draws.setdefault(run.draw, []).append(run.distance)
    means = {draw: statistics.fmean(found) for draw, found in draws.items()}
    return dict(sorted(means.items(), key=lambda item: item[1]))


# ---- which runs ----------------------------------------------------------------------------------
def rungs_on(rules: str) -> range:
    """The numbers of a deck's rungs: on other decks than `DECK` the winners alone are trained."""
    return range(0 if rules == DECK else len(RUNGS) - 1, len(RUNGS))


def runs_of(points: Sequence[Point], name: str, number: int, rules: str) -> list[Run]:
    """An algorithm's runs of a rung; none as long as the rung before is not finished on `DECK`."""
    rung = RUNGS[number]
    draws: Sequence[int] = range(rung.draws)
    if number:
        before = runs_of(points, name, number - 1, DECK)
        found = ends_of(points, before)
        if not before or len(found) < len(before):
            return []
        draws = list(over_seeds(found))[: rung.draws]
    return [Run(rules, rung.decisions, name, draw, seed) for seed in rung.seeds for draw in draws]


def ready(points: Sequence[Point], names: Sequence[str], rules: str) -> list[Run]:
    """The runs that can be trained now: of each rung, one of every algorithm, then the next."""
    done = {point.run for point in points if point.is_last}
    return [
        run
        for number in rungs_on(rules)
        for alike in itertools.zip_longest(*(runs_of(points, n, number, rules) for n in names))
        for run in alike
        if run and run not in done
    ]


def climb(
    folder: Path, results: Path, names: Sequence[str], rules: str, end: float, executor: Executor
) -> bool:
    """Train until all is finished or the time is over; returns whether all is finished."""
    folder.mkdir(parents=True, exist_ok=True)
    work = functools.partial(train, folder=folder)
    while runs := ready(finished(folder, results), names, rules):
        in_time = itertools.takewhile(lambda _: time.monotonic() < end, runs)
        trained = 0
        for record in spread(work, in_time, workers=executor[0], backend=executor[1]):
            trained += 1
            last = record["curve"][-1]
            print(
                f"{trained:4} of {len(runs)}  {record['algorithm']:12} draw {record['draw']:2} "
                f"seed {record['seed']:3}  {last.get('drawn', last['preferred']):6.3f}  "
                f"{last['seconds']:5.0f} s",
                flush=True,
            )
        if trained < len(runs):
            return False
    return True


# ---- the table -----------------------------------------------------------------------------------
def publish(points: Sequence[Point], path: Path) -> None:
    """Write all that is finished: settings to a JSON file, curves to a CSV file beside it."""
    if not points:
        raise HeartsError("--publish: no finished run")
    algorithms = {}
    for name, one in ALGORITHMS.items():
        numbers = sorted({point.draw for point in points if point.algorithm == name})
        algorithms[name] = {
            "meaning": one.meaning,
            "ranges": {key: list(each) for key, each in one.ranges.items()},
            "draws": {number: one.draw(name, number) for number in numbers},
        }
    with writing_whole(path.with_suffix(".csv")) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        csv.writer(text, lineterminator="\n").writerows([Point._fields, *points])
        text.flush()
        text.detach()
    harness.write(path, {"common": COMMON, "algorithms": algorithms})


def middle(scores: Sequence[float]) -> str:
    """The interquartile mean of runs, with the 95 % interval of the bootstrap over them.

    Of fewer than five, which the bootstrap cannot tell much of: their mean, the least and the most;
    of one, that one.
    """
    if len(scores) < 2:
        return "".join(f"{score:.3f}" for score in scores)
    if len(scores) < 5:
        return f"{statistics.fmean(scores):.3f} [{min(scores):.3f}, {max(scores):.3f}]"
    value, (low, high) = aggregate(np.array(scores)[:, None])
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def draw(points: Sequence[Point], path: Path) -> None:
    """Draw every draw of every algorithm, and the curves of the best ones, into a file."""
    figure = new_figure(9.0, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    last = len(RUNGS) - 1
    for place, (name, style) in enumerate(styles(list(ALGORITHMS)).items()):
        for number in range(last):
            found = list(over_seeds(ends(points, name, number, DECK)).values())
            across = [place + 0.3 * number - 0.15] * len(found)
            left.plot(across, found, "o", color=style.color, alpha=0.5, ms=3 + number)
        reached = [found for n in range(last + 1) if (found := ends(points, name, n, DECK))]
        best = next(iter(over_seeds(reached[-1]))) if reached else None
        chosen = {end.run for end in reached[-1] if end.draw == best} if reached else set()
        curves: dict[int, list[float]] = {}
        for point in points:
            if point.run in chosen:
                curves.setdefault(point.decisions, []).append(point.distance)
        if curves:
            times = sorted(curves)
            means = [statistics.fmean(curves[time]) for time in times]
            lows = [min(curves[time]) for time in times]
            highs = [max(curves[time]) for time in times]
            millions = [time / 1e6 for time in times]
            right.plot(millions, means, ms=4, label=name, **style._asdict())
            right.fill_between(millions, lows, highs, color=style.color, alpha=0.15, lw=0)
    left.set_xticks(range(len(ALGORITHMS)), list(ALGORITHMS), rotation=45, ha="right")
    drawn = ", then ".join(f"{rung.decisions / 1e6:g}" for rung in RUNGS[:last])
    left.set(
        yscale="log", ylabel="exploitability, points a deal", title=f"draws, {drawn} M decisions"
    )
    left.set_yticks([0.1, 0.2, 0.5, 1.0, 2.0, 5.0], ["0.1", "0.2", "0.5", "1", "2", "5"])
    left.minorticks_off()
    right.set(xlabel="million decisions", title="the best draw of each")
    if right.lines:
        figure.legend(loc="outside right center", frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


# ---- the command ---------------------------------------------------------------------------------
def main(arguments: Sequence[str] | None = None) -> int:
    """Train what is asked for, or publish it; returns the exit status."""
    parser = harness.options(__doc__, has_out=False)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "algorithms")
    parser.add_argument("--only", default="", help="algorithms, joined by commas; none: all")
    parser.add_argument("--rules", default=DECK, help="the deck")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after these")
    parser.add_argument("--workers", type=int, help="processes; none: this one")
    parser.add_argument("--backend", default="local", choices=BACKENDS)
    parser.add_argument("--publish", action="store_true", help="train nothing, add to --results")
    parser.add_argument("--results", type=Path, default=PUBLISHED, help="the published runs")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="drawn by --publish")
    given = parser.parse_args(arguments)
    names = given.only.split(",") if given.only else list(ALGORITHMS)
    try:
        if given.publish:
            points = finished(given.folder, given.results)
            publish(points, given.results)
            draw(points, given.picture)
            return 0
        unknown = [name for name in names if name not in ALGORITHMS]
        if unknown:
            raise HeartsError(f"--only: {unknown[0]!r} is none of {', '.join(ALGORITHMS)}")
        Rules.make(given.rules)
        executor = check_executor(given.workers, given.backend)
        end = time.monotonic() + 60 * given.minutes
        if given.rules != DECK:
            points = finished(given.folder, given.results)
            if not all(runs_of(points, name, len(RUNGS) - 1, given.rules) for name in names):
                raise HeartsError(f"--rules: the winners on {DECK} come first, without --rules")
        with interruptible():
            is_all = climb(given.folder, given.results, names, given.rules, end, executor)
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return 130
    except HeartsError as error:
        print(error, file=sys.stderr)
        return 2
    print("all runs are finished" if is_all else "time is over; the same command continues")
    return 0


if __name__ == "__main__":
    sys.exit(main())
