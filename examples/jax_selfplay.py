"""Self-play with JAX: the policy and its update in `jit`, the games in a compiled batch beside it.

Arrays go to JAX through DLPack, without a copy. All deals have 26 cards, so they end together.

    pip install . -r examples/requirements/jax_selfplay.txt
    python examples/jax_selfplay.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from _report import Report
from jax.example_libraries import optimizers

from hearts_env import BatchGame

report = Report(__doc__, "jax")
batch = BatchGame("two_player", num_games=256, seed=1)
size, num_actions = batch.space.shape[0], batch.rules.num_actions
drawn = jax.random.normal(jax.random.key(1), (128, size + num_actions)) * 0.05
begin, apply, weights_of = optimizers.adam(1e-3)
state = begin((drawn[:, :size].T, drawn[:, size:]))


@jax.jit
def logits(weights, observations, masks=1):
    """The preference for each legal card, (n, num_actions)."""
    hidden = jnp.tanh(observations.astype(jnp.float32) @ weights[0])
    return jnp.where(masks, hidden @ weights[1], -1e9)


@jax.jit
def learn(state, step, observations, masks, actions, margins):
    """One step of REINFORCE."""

    def loss(weights):
        chances = jax.nn.log_softmax(logits(weights, observations, masks))
        return -(margins * chances[jnp.arange(len(actions)), actions]).mean()

    return apply(step, jax.grad(loss)(weights_of(state)), state)


report.measure(lambda observations: logits(weights_of(state), observations))
for step in range(report.choose(full=2_000, smoke=20)):
    rows, movers = [], []
    for key in jax.random.split(jax.random.key(step), 26):
        seen, masks = jnp.from_dlpack(batch.observe()), jnp.from_dlpack(batch.masks())
        cards = jax.random.categorical(key, logits(weights_of(state), seen, masks))
        rows.append((seen, masks, cards))
        movers.append(batch.current_player)
        batch.play(cards)
    margins = (batch.scores()[:, ::-1] - batch.scores()) / batch.rules.max_margin
    paid = np.concatenate([margins[np.arange(256), seats] for seats in movers])
    state = learn(state, step, *map(jnp.concatenate, zip(*rows, strict=True)), paid)
    report.decided(len(paid))
    for seat, margin in zip((0, 1) * 256, margins.flat, strict=True):
        report.played(seat, margin)
report.measure(lambda observations: logits(weights_of(state), observations))
report.finish()
