"""Training, measuring and playing, and commands for it: ``command -> web -> learn -> measure``.

What users import is exported here, and loaded on first use::

    from hearts_train import evaluate, compare, tournament, benchmark, exploit, exploitability
    from hearts_train import train, load_config, export_policy, ExploitabilityCallback
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hearts_train.learn.config_files import load_config
    from hearts_train.learn.export import ExploitabilityCallback, export_policy
    from hearts_train.learn.training import train
    from hearts_train.measure.benchmark import benchmark
    from hearts_train.measure.comparison import compare
    from hearts_train.measure.evaluation import evaluate
    from hearts_train.measure.exploit import exploit
    from hearts_train.measure.exploitability import exploitability
    from hearts_train.measure.tournament import tournament

# Read by torch's OpenMP when it is loaded, so set before anything here can import torch. Its
# threads otherwise wait by spinning, which on cores that others use as well was seen to make
# training ten times slower (1.8 k decisions/s against 28 k: two threads, two busy cores).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOMES = {
    "ExploitabilityCallback": "hearts_train.learn.export",
    "benchmark": "hearts_train.measure.benchmark",
    "compare": "hearts_train.measure.comparison",
    "evaluate": "hearts_train.measure.evaluation",
    "exploit": "hearts_train.measure.exploit",
    "exploitability": "hearts_train.measure.exploitability",
    "export_policy": "hearts_train.learn.export",
    "load_config": "hearts_train.learn.config_files",
    "tournament": "hearts_train.measure.tournament",
    "train": "hearts_train.learn.training",
}


def __getattr__(name: str) -> object:
    """Import on first use: neither measuring nor the command line needs torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "ExploitabilityCallback",
    "benchmark",
    "compare",
    "evaluate",
    "exploit",
    "exploitability",
    "export_policy",
    "load_config",
    "tournament",
    "train",
]
