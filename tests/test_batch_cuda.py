"""Games on a CUDA device are those on the CPU: on a GPU where there is one, else in a simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

from hearts_env import BatchGame, DealError, HeartsError
from tests.refusals import refused

HAS_GPU = cuda.is_available()


def assert_same(batch: BatchGame, on_device: Any) -> None:
    """All that can be read of both is the same."""
    for name in ("states", "legal", "done", "seeds", "player"):
        found = getattr(on_device, name).copy_to_host()
        np.testing.assert_array_equal(found, getattr(batch, name), name)
    for name in ("scores", "observe", "masks"):
        expected = getattr(batch, name)()
        found = getattr(on_device, name)().copy_to_host()
        np.testing.assert_array_equal(found, expected, name)
        assert found.dtype == expected.dtype


def play_both(preset: str, observation: str, *, autodeal: bool, steps: int) -> None:
    """The same games on the CPU and on the device, decision by decision."""
    options: dict[str, Any] = {"observation": observation, "autodeal": autodeal}
    batch = BatchGame(preset, 6, 5, **options)
    other: Any = BatchGame(preset, 6, 5, device="cuda", **options)
    shown, masks = other.observe(), other.masks()
    assert_same(batch, other)
    ended = 0
    for i in range(steps):
        actions = other.random_actions()
        expected = batch.random_actions()
        np.testing.assert_array_equal(actions.copy_to_host(), expected)
        own = other.step(expected.astype(np.int32) if i % 2 else actions, shown, masks)
        assert own == (shown, masks)
        for found, array in zip(own, batch.step(expected), strict=True):
            np.testing.assert_array_equal(found.copy_to_host(), array)
        ended += int(batch.done.sum())
    assert ended > 0 or steps < 40
    assert_same(batch, other)
    for seeds in (None, list(range(6))):
        batch.reset(seeds)
        other.reset(seeds)
        assert_same(batch, other)


def refuse_what_is_wrong() -> None:
    """Nothing is played where an argument is wrong."""
    batch = BatchGame("two_player", 3, 5)
    other: Any = BatchGame("two_player", 3, 5, device="cuda")
    actions = batch.random_actions()
    words = cuda.to_device(np.zeros(1000, np.int8))
    bools = np.ones((3, 28), np.bool_)
    overlapping = words[:600].reshape(3, 200), words[600 - 8 : 600 - 8 + 84].reshape(3, 28)
    wrong: list[tuple[str, tuple[Any, ...]]] = [
        ("actions", ([int(actions[0]), 28, int(actions[2])],)),
        ("actions", (actions[:2],)),
        ("actions", (cuda.to_device(actions.astype(float)),)),
        ("observations", (actions, batch.observe())),
        ("observations", (actions, other.masks())),
        ("masks", (actions, None, cuda.to_device(bools))),
        ("masks", (actions, *overlapping)),
    ]
    for argument, given in wrong:
        with refused(HeartsError, argument):
            other.step(*given)
        assert_same(batch, other)
    with refused(DealError, "seeds"):
        other.reset(cuda.to_device(np.array([1, 2, -3])))
    other.step(actions)  # the count of illegal actions has been put back
    batch.step(actions)
    assert_same(batch, other)


def all_checks() -> None:
    """What the test runs in a process of its own."""
    play_both("two_player", "flat", autodeal=True, steps=60)
    play_both("classic", "bits", autodeal=False, steps=30)
    play_both("micro", "bits", autodeal=False, steps=2)
    refuse_what_is_wrong()
    print("the same")


@pytest.mark.slow
@pytest.mark.parametrize(
    "simulated",
    [True, pytest.param(False, marks=pytest.mark.skipif(not HAS_GPU, reason="needs a GPU"))],
)
def test_games_on_a_device_are_those_on_the_cpu(simulated: bool) -> None:
    # The simulator is chosen when numba is imported, and interprets what is not compiled.
    switches = dict.fromkeys(("NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_JIT"), str(int(simulated)))
    code = "from tests.test_batch_cuda import all_checks; all_checks()"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | switches,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "the same\n", done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "device gpu"),
        ({"device": None}, "device"),
        ({"device": "cuda", "observation": "planes"}, "observation planes"),
        ({"device": "cuda", "num_threads": 2}, "num_threads 2"),
        ({"device": "cuda", "freeze": False}, "freeze"),
        ({"device": "cuda", "num_games": 0}, "num_games"),
        pytest.param(
            {"device": "cuda"},
            'device device="cpu',
            marks=pytest.mark.skipif(HAS_GPU, reason="there is a GPU"),
        ),
    ],
)
def test_what_a_device_cannot_do_is_named(options: dict[str, Any], message: str) -> None:
    with refused(HeartsError, *message.split()):
        BatchGame(**{"rules": "micro", "num_games": 2} | options)
