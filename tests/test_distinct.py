"""Rows without repetitions."""

from __future__ import annotations

import numpy as np
import pytest

from hearts_agents.models.network import EncoderAgent
from hearts_env import BatchGame
from hearts_env.batch.views import BatchView
from hearts_env.support.distinct import distinct


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (500, 3), (60, 2, 2), (200, 1)])
def test_distinct_rows_are_found(shape):
    rows = np.random.default_rng(1).integers(-2, 3, size=shape).astype(np.int16)
    firsts, of = distinct(rows)
    assert (np.diff(firsts) > 0).all()
    assert (rows[firsts][of] == rows).all()
    assert len(firsts) == len({row.tobytes() for row in rows})


def test_network_evaluates_equal_observations_once():
    asked = []

    class Counting(EncoderAgent):
        def weigh(self, observations, legal):
            asked.append(len(observations))
            return np.arange(28) + observations.reshape(len(observations), -1)[:, :28]

    views = BatchGame("two_player", 6, seed=1, autodeal=False).views()
    twice = BatchView(
        views.rules, *(np.repeat(a, 2, axis=0) for a in (views.vectors, views.players))
    )
    agent = Counting("ranked")
    assert agent.act_batch(twice).tolist() == np.repeat(agent.act_batch(views), 2).tolist()
    assert asked == [6, 6]
