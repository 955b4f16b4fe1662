"""Self-play in JAX: games, policy and update are one compiled program.

pip install . -r examples/requirements/jax_selfplay.txt
python examples/jax_selfplay.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from _report import Learning
from jax.example_libraries import optimizers

from hearts_env.jax import Hearts, auto_reset

SETTINGS = {"num_games": 32, "hidden": [256], "learning_rate": 2e-3}
report = Learning(__doc__, "jax", opponents="itself", greedy=False, settings=SETTINGS)
env, num_games, hidden = Hearts(report.rules), SETTINGS["num_games"], 256
init, step = jax.jit(jax.vmap(env.init)), jax.vmap(auto_reset(env.step, env.init))
begin, apply, weights_of = optimizers.adam(SETTINGS["learning_rate"])
seed, turns = jax.random.key(report.seed), 2 * env.rules.hand_size
drawn = jax.random.normal(seed, (*env.observation_shape, hidden)) * 0.05
weights = drawn, jnp.zeros((hidden, env.num_actions))


def log_probs(weights, games):
    """Return the log-probabilities of the cards, ``(..., num_actions)``."""
    seen = games.observation.astype(jnp.float32)
    logits = (seen @ weights[0]).clip(0) @ weights[1]
    return jax.nn.log_softmax(jnp.where(games.legal_action_mask, logits, -1e9))


@jax.jit
def play_and_learn(games, adam, number):
    """Play a deal per game, and learn from the cards of both seats by REINFORCE."""

    def turn(games, keys):
        cards = jax.random.categorical(keys[0], log_probs(weights_of(adam), games))
        return step(games, cards, keys[1:]), (games, cards)

    def loss(weights):
        chosen = jnp.take_along_axis(log_probs(weights, past), cards[..., None], -1)
        return -(games.rewards[jnp.arange(num_games), past.current_player] * chosen[..., 0]).mean()

    keys = jax.random.split(jax.random.fold_in(seed, number), (turns, 1 + num_games))
    games, (past, cards) = jax.lax.scan(turn, games, keys)
    adam = apply(number, jax.grad(loss)(weights_of(adam)), adam)
    return games, adam, past.legal_action_mask


def layers():
    """Return the layers of the policy, without biases."""
    return [(np.asarray(weight).T, None) for weight in weights_of(adam)]


games, adam, number = init(jax.random.split(seed, num_games)), begin(weights), 0
while True:
    games, learned, masks = play_and_learn(games, adam, number)
    assert games.terminated.all()  # an illegal card would have ended a deal early
    report.decided(masks)
    if report.is_over:
        break
    for seat, margin in zip((0, 1) * num_games, games.rewards.ravel().tolist(), strict=True):
        report.played(seat, margin)
    adam, number = learned, number + 1
    report.learned(layers, activation="relu")
report.finish()
