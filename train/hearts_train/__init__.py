"""Train, measure and play, in Python or with commands: ``cli -> web -> learn -> measure``.

The public functions and the classes of their results are exported here, and imported on first
use::

    from hearts_train import evaluate, compare, tournament, benchmark, exploit, exploitability
    from hearts_train import train, load_config, export_policy, solve, plot
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hearts_env.solve.best_response import Exploitability
    from hearts_env.solve.equilibrium import Equilibrium
    from hearts_train.equilibria import solve
    from hearts_train.learn.config import TrainConfig
    from hearts_train.learn.config_files import load_config
    from hearts_train.learn.export import export_policy
    from hearts_train.learn.loop import RunResult
    from hearts_train.learn.report import SeedsResult
    from hearts_train.learn.training import train
    from hearts_train.measure.benchmark import BenchmarkResult, benchmark
    from hearts_train.measure.comparison import Comparison, compare
    from hearts_train.measure.evaluation import Evaluation, MatchResults, evaluate, plot
    from hearts_train.measure.exploit import ExploitResult, exploit
    from hearts_train.measure.exploitability import exploitability
    from hearts_train.measure.tournament import Tournament, tournament

# Torch's OpenMP reads this when it is loaded, so it is set before anything here imports torch. By
# default its threads spin while they wait. On cores shared with other processes this made training
# 15 times slower (1.8 k against 28 k decisions/s with two threads on two busy cores).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOMES = {
    "BenchmarkResult": "hearts_train.measure.benchmark",
    "Comparison": "hearts_train.measure.comparison",
    "Equilibrium": "hearts_env.solve.equilibrium",
    "Evaluation": "hearts_train.measure.evaluation",
    "ExploitResult": "hearts_train.measure.exploit",
    "Exploitability": "hearts_env.solve.best_response",
    "MatchResults": "hearts_train.measure.evaluation",
    "RunResult": "hearts_train.learn.loop",
    "SeedsResult": "hearts_train.learn.report",
    "Tournament": "hearts_train.measure.tournament",
    "TrainConfig": "hearts_train.learn.config",
    "benchmark": "hearts_train.measure.benchmark",
    "compare": "hearts_train.measure.comparison",
    "evaluate": "hearts_train.measure.evaluation",
    "exploit": "hearts_train.measure.exploit",
    "exploitability": "hearts_train.measure.exploitability",
    "export_policy": "hearts_train.learn.export",
    "load_config": "hearts_train.learn.config_files",
    "plot": "hearts_train.measure.evaluation",
    "solve": "hearts_train.equilibria",
    "tournament": "hearts_train.measure.tournament",
    "train": "hearts_train.learn.training",
}


def __getattr__(name: str) -> object:
    """Import on first use, because neither measuring nor the command line needs torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "BenchmarkResult",
    "Comparison",
    "Equilibrium",
    "Evaluation",
    "ExploitResult",
    "Exploitability",
    "MatchResults",
    "RunResult",
    "SeedsResult",
    "Tournament",
    "TrainConfig",
    "benchmark",
    "compare",
    "evaluate",
    "exploit",
    "exploitability",
    "export_policy",
    "load_config",
    "plot",
    "solve",
    "tournament",
    "train",
]
