"""What each choice of the trainer costs: decisions learnt from per second of processor and clock.

    python bench/learning.py [--rounds 7] [--out docs/results/learning.json]

One update of every variant after the other, again and again, so that all see the same machine;
medians. Playing, learning and everything between are included, evaluations are not.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence

from bench import harness
from hearts_train.learn.config_files import load_config
from hearts_train.learn.learner import Learner
from hearts_train.learn.training import make_learner

ONE = ("threads=1",)
VARIANTS: dict[str, tuple[str, Sequence[str]]] = {
    "two threads": ("demo", ()),
    "one thread": ("demo", ONE),
    "float32 instead of bfloat16": ("demo", (*ONE, "precision=float32")),
    "heads of 128": ("demo", (*ONE, "network.policy=[128]", "network.value=[128]")),
    "three epochs": ("demo", (*ONE, "ppo.num_epochs=3")),
    "minibatches of 4,096": ("demo", (*ONE, "ppo.batch_size=4096")),
    "past snapshots as opponents": (
        "demo",
        (*ONE, "self_play.latest_share=0", "self_play.keep_every=1"),
    ),
    "MaskablePPO, its config": ("maskable", ()),
}
"""Variants by name: the config, and what differs from it."""


def rates(learner: Learner) -> tuple[float, float]:
    """Decisions per second of processor and of clock in one update."""
    processor, clock, before = time.process_time(), time.monotonic(), learner.counters.decisions
    learner.update()
    number = learner.counters.decisions - before
    return number / (time.process_time() - processor), number / (time.monotonic() - clock)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the figures if wanted."""
    parser = harness.options(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args(arguments)
    learners = {
        name: make_learner(load_config(config, settings))
        for name, (config, settings) in VARIANTS.items()
    }
    for learner in learners.values():
        learner.warm_up()
    found = harness.in_turn(
        {name: functools.partial(rates, learner) for name, learner in learners.items()},
        given.rounds,
        warm=2,  # the first snapshot is kept, everything has been loaded
    )
    records = []
    print(f"{'':32} per second of processor      of clock")
    for name, pairs in found.items():
        processor, clock = (statistics.median(rate) for rate in zip(*pairs, strict=True))
        print(f"{name:32} {processor:23,.0f} {clock:13,.0f}")
        config, settings = VARIANTS[name]
        records.append(
            {
                "name": name,
                "config": config,
                "settings": list(settings),
                "per_processor_second": processor,
                "per_second": clock,
            }
        )
    harness.write(given.out, {"rates": records})


if __name__ == "__main__":
    main()
