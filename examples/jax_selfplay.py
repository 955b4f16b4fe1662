"""Self-play in JAX: games, policy and update are one compiled program.

pip install . -r examples/requirements/jax_selfplay.txt
python examples/jax_selfplay.py
"""

import jax
import jax.numpy as jnp
from _report import Report
from jax.example_libraries import optimizers

from hearts_env.jax import Hearts, auto_reset

report, env, num_games = Report(__doc__, "jax"), Hearts("two_player"), 256
init, step = jax.jit(jax.vmap(env.init)), jax.vmap(auto_reset(env.step, env.init))
begin, apply, weights_of = optimizers.adam(1e-3)
drawn = jax.random.normal(jax.random.key(1), (*env.observation_shape, 128)) * 0.05
weights = drawn, jnp.zeros((128, env.num_actions))


def logits(weights, seen):
    """Return a logit per card, for arrays of JAX or NumPy."""
    return (seen @ weights[0]).clip(0) @ weights[1]


def log_chances(weights, games):
    """Return the log-probabilities of the cards, ``(..., num_actions)``."""
    weighed = logits(weights, games.observation.astype(jnp.float32))
    return jax.nn.log_softmax(jnp.where(games.legal_action_mask, weighed, -1e9))


@jax.jit
def play_and_learn(games, adam, number):
    """Play a deal per game, and learn from the cards of both seats by REINFORCE."""

    def turn(games, keys):
        cards = jax.random.categorical(keys[0], log_chances(weights_of(adam), games))
        return step(games, cards, keys[1:]), (games, cards)

    def loss(weights):
        chances = jnp.take_along_axis(log_chances(weights, past), cards[..., None], -1)
        return -(games.rewards[jnp.arange(num_games), past.current_player] * chances[..., 0]).mean()

    keys = jax.random.split(jax.random.key(number), (2 * env.rules.hand_size, 1 + num_games))
    games, (past, cards) = jax.lax.scan(turn, games, keys)
    return games, apply(number, jax.grad(loss)(weights_of(adam)), adam)


games, adam = init(jax.random.split(jax.random.key(0), num_games)), begin(weights)
report.measure(lambda seen: logits(jax.device_get(weights_of(adam)), seen))
for number in range(report.choose(full=2_000, smoke=20)):
    games, adam = play_and_learn(games, adam, number)
    assert games.terminated.all()  # an illegal card would have ended a deal early
    report.decided(2 * env.rules.hand_size * num_games)
    for seat, margin in zip((0, 1) * num_games, games.rewards.ravel().tolist(), strict=True):
        report.played(seat, margin)
report.measure(lambda seen: logits(jax.device_get(weights_of(adam)), seen))
report.finish()
