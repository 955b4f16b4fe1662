"""The compiled loops of self-play: drawing actions, playing on, paying seats, advantages.

Decisions of all seats go into one list, a row each, in the order in which they are made. ``nexts``
links each row with the next decision of the same seat in the same deal, so that rewards, returns
and advantages follow every seat by itself, however many there are and whoever moves in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_agents.envs.arena_kernel import OPPONENT, SEAT, draw, draw_place, unit
from hearts_env import kernel as k
from hearts_env.envs.rewards import earned, is_due
from hearts_env.support.arrays import Bools, Bytes, Floats, Floats32, Ints, Numbers
from hearts_env.support.bits import lowest
from hearts_env.support.jit import inlined, jit

PENDING, END = -1, -2
"""Of ``nexts``: the seat's next decision is still to come; the deal has ended."""

LEARNS, WAITS, ENDED = range(3)
"""Where a game stands: at a decision of the learner, at one of an opponent, at its end."""

LEARNER = -1
"""Who sits in a seat: the learner, or (from 0) the opponent at this place in the pool."""


RESPONSE = 32
"""What is drawn from a deal's seed (``draw``): RESPONSE + seat whether it plays a best response."""


class Table(NamedTuple):
    """What the loops read and write of each game."""

    states: Ints
    """``(games, STATE_SIZE)``, those of a ``BatchGame``; so is ``legal``, ``(games,)``."""
    legal: Ints
    cast: Ints
    """``(games, players)``: who sits there, `LEARNER` or a place in the pool."""
    last: Ints
    """``(games, players)``: the row of the seat's last decision in this deal; -1: none yet."""
    paid: Ints
    """``(games, players)``: what the seat has been paid in this deal, in units of ``earned``."""
    stand: Ints
    """``(games,)``: `LEARNS`, `WAITS` or `ENDED`."""


class Rows(NamedTuple):
    """The list of decisions, ``(rows,)`` each except `masks`."""

    masks: Bytes
    """``(rows, actions)``: what was legal."""
    actions: Ints
    """What was done."""
    log_probs: Floats32
    """The logarithm of the chance that it had."""
    values: Floats32
    """What the value head expected of the position."""
    rewards: Floats32
    """What the seat earned up to its next decision, or to the end of the deal."""
    nexts: Ints
    """The row of that decision, `PENDING` or `END`."""
    advantages: Floats32
    returns: Floats32
    """What the value head is to learn."""


FIGURES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "magnet_kl")
"""What is logged of the objective."""


class Clip(NamedTuple):
    """The settings of the objective."""

    policy: float
    """``clip_range``."""
    value: float
    """``clip_range_vf``; infinite: not clipped."""
    vf_coef: float
    ent_coef: float
    magnet_coef: float


@jit
def draw_cast(
    r: k.Vector, games: Ints, deals: Ints, seat: int, chances: Floats, latest: int, cast: Ints
) -> None:
    """Draw who sits where in the deals that begin in `games`, as their seeds have it.

    One seat (`seat`; -1: any) is the learner's. Each other one draws from the pool, where place
    `latest` stands for the learner too.
    """
    for g in games:
        players = r[k.R_PLAYERS]
        own = np.int64(draw(deals[g], SEAT) % np.uint64(players)) if seat < 0 else seat
        for p in range(players):
            place = draw_place(deals[g], OPPONENT + p, chances)
            cast[g, p] = LEARNER if p == own or place == latest else place


@jit
def choose(
    logits: Floats32, legal: Ints, random: Numbers, actions: Ints, log_probs: Floats32
) -> None:
    """Draw a legal action of each row from the softmax of its logits, in place.

    Args:
        logits: ``(rows, actions)``.
        legal: ``(rows,)``, bit masks over actions.
        random: ``(rows,)``, a stream of random numbers each, in place.
        actions: ``(rows,)``, written.
        log_probs: ``(rows,)``, written: the logarithm of the chance that the action had.
    """
    for i in range(len(legal)):
        highest, mask = np.float32(-np.inf), legal[i]
        while mask:
            highest = max(highest, logits[i, lowest(mask)])
            mask &= mask - 1
        total, mask = 0.0, legal[i]
        while mask:
            total += np.exp(logits[i, lowest(mask)] - highest)
            mask &= mask - 1
        random[i] += np.uint64(0x9E3779B97F4A7C15)
        left = unit(k.mix(random[i])) * total
        mask = legal[i]
        while mask:
            actions[i] = lowest(mask)
            left -= np.exp(logits[i, actions[i]] - highest)
            if left < 0.0:
                break
            mask &= mask - 1
        log_probs[i] = logits[i, actions[i]] - highest - np.log(total)


@jit
def draw_responses(deals: Ints, players: Ints, eta: float, responds: Bools) -> None:
    """Draw whether the player to move follows the best response in its deal, as its seed has it.

    Args:
        deals: ``(n,)``, the seeds of the deals.
        players: ``(n,)``, who is to move.
        eta: the chance of a best response.
        responds: ``(n,)``, written: the same for all decisions of a seat in a deal.
    """
    for i in range(len(deals)):
        responds[i] = unit(draw(deals[i], RESPONSE + players[i])) < eta


@jit
def note(table: Table, rows: Rows, first: int) -> None:
    """Begin the rows of the decisions that all games stand at: game g has row `first` + g."""
    for g in range(len(table.states)):
        row, p = first + g, table.states[g, k.PLAYER]
        rows.rewards[row] = 0.0
        rows.nexts[row] = PENDING
        if table.last[g, p] >= 0:
            rows.nexts[table.last[g, p]] = row
        table.last[g, p] = row


@jit
def play(r: k.Vector, table: Table, actions: Ints) -> None:
    """Do an action in each game; all must be legal."""
    for g in range(len(actions)):
        k.play(r, table.states[g], actions[g])


@jit
def advance(
    r: k.Vector, table: Table, rows: Rows, games: Ints, kind: int, scale: float, skip: int
) -> None:
    """Play the forced cards of `games` up to a decision or the end of the deal, and pay all seats.

    Args:
        r: the rules.
        table: all but ``cast`` changes.
        rows: rewards go to the last decision of each seat, in place.
        games: the numbers of the games.
        kind: ``Rewarder.number``.
        scale: ``Rewarder.scale``.
        skip: whether forced cards of the learner are played too; those of opponents always are.
    """
    for g in games:
        s = table.states[g]
        while True:
            mask = k.legal_mask(r, s)
            if mask == 0:
                table.stand[g] = ENDED
                break
            learns = table.cast[g, s[k.PLAYER]] == LEARNER
            if mask & (mask - 1) == 0 and (skip or not learns):
                k.play(r, s, lowest(mask))
                continue
            table.stand[g] = LEARNS if learns else WAITS
            break
        table.legal[g] = mask
        is_over = mask == 0
        for p in range(r[k.R_PLAYERS]):
            row = table.last[g, p]
            if is_due(kind, is_over):
                now = earned(r, s, kind, p)
                if row >= 0:  # what comes before the first decision teaches nothing
                    rows.rewards[row] += (now - table.paid[g, p]) / scale
                table.paid[g, p] = 0 if is_over else now
            if is_over and row >= 0:
                rows.nexts[row] = END
                table.last[g, p] = -1


@jit
def estimate(rows: Rows, size: int, gamma: float, gae_lambda: float) -> None:
    """Write advantages and returns of the first `size` rows (Schulman et al. 2016, eq. 16).

    The advantage of a `PENDING` row is 0: its reward is not known yet, only its value is used, by
    the decision before.
    """
    for i in range(size - 1, -1, -1):
        after, value = rows.nexts[i], rows.values[i]
        if after == PENDING:
            rows.advantages[i] = 0.0
        elif after == END:
            rows.advantages[i] = rows.rewards[i] - value
        else:
            delta = rows.rewards[i] + gamma * rows.values[after] - value
            rows.advantages[i] = delta + gamma * gae_lambda * rows.advantages[after]
        rows.returns[i] = rows.advantages[i] + value


@inlined
def policy_of(masks: Bytes, logits: Floats32, policy: Floats32) -> tuple[np.float32, np.float32]:
    """Write the softmax of a row's legal logits; returns the logarithm of its sum, and the entropy.

    Args:
        masks: ``(actions,)``.
        logits: ``(actions,)``.
        policy: ``(actions,)``, written; 0 where illegal.
    """
    highest, total, entropy = np.float32(-np.inf), np.float32(0.0), np.float32(0.0)
    for j in range(len(logits)):
        if masks[j]:
            highest = max(highest, logits[j])
    for j in range(len(logits)):
        policy[j] = np.exp(logits[j] - highest) if masks[j] else np.float32(0.0)
        total += policy[j]
    normaliser = highest + np.log(total)
    for j in range(len(logits)):
        policy[j] /= total
        if masks[j]:
            entropy -= policy[j] * (logits[j] - normaliser)
    return normaliser, entropy


@inlined
def log_sum(masks: Bytes, logits: Floats32) -> np.float32:
    """The logarithm of the sum of the exponentials of a row's legal logits."""
    highest, total = np.float32(-np.inf), np.float32(0.0)
    for j in range(len(logits)):
        if masks[j]:
            highest = max(highest, logits[j])
    for j in range(len(logits)):
        if masks[j]:
            total += np.exp(logits[j] - highest)
    return highest + np.log(total)


@inlined
def divergence(masks: Bytes, policy: Floats32, logits: Floats32, others: Floats32) -> np.float32:
    """The mean difference of logits under `policy`; with that of their ``log_sum``, KL."""
    total = np.float32(0.0)
    for j in range(len(policy)):
        if masks[j]:
            total += policy[j] * (logits[j] - others[j])
    return total


@jit
def objective(
    rows: Rows,
    some: Ints,
    size: int,
    clip: Clip,
    logits: Floats32,
    values: Floats32,
    magnet: Floats32,
    gradients: tuple[Floats32, Floats32],
    sums: Floats,
) -> None:
    """Write the gradients of PPO's loss (Schulman et al. 2017, eq. 9) by logits and values.

    With ratio q = pi(a) / pi_old(a) and advantage A the loss of a decision is
    ``-min(q A, clip(q) A) + vf_coef (v - R)^2 - ent_coef H(pi) + magnet_coef KL(pi, rho)``, the
    last as in magnetic mirror descent (Sokota et al. 2023). Where it is not clipped,
    d(-q A) / d logit_j = -q A (1[j = a] - pi_j); dH / d logit_j = -pi_j (log pi_j + H); and
    dKL / d logit_j = pi_j (log pi_j - log rho_j - KL).

    Args:
        rows: the list of decisions.
        some: ``(n,)``, which of them.
        size: by how many their sum is divided.
        clip: settings.
        logits: ``(n, actions)``.
        values: ``(n,)``.
        magnet: ``(n, actions)``, logits of the policy rho; with no rows there is none.
        gradients: by logits and by values, of the same shapes, written.
        sums: the sums of `FIGURES`, added to; the divergence is Schulman's estimator k3.
    """
    by_logits, by_values = gradients
    for i in range(len(some)):
        row, policy = some[i], by_logits[i]  # of which the gradient takes the place
        normaliser, entropy = policy_of(rows.masks[row], logits[i], policy)
        action, advantage = rows.actions[row], rows.advantages[row]
        change = logits[i, action] - normaliser - rows.log_probs[row]
        ratio = np.exp(change)
        low, high = 1.0 - clip.policy, 1.0 + clip.policy
        is_clipped = ratio > high if advantage > 0.0 else ratio < low
        push = np.float32(0.0 if is_clipped else ratio * advantage)
        away, distance = np.float32(0.0), np.float32(0.0)
        if len(magnet):
            away = log_sum(rows.masks[row], magnet[i]) - normaliser
            distance = away + divergence(rows.masks[row], policy, logits[i], magnet[i])
        for j in range(logits.shape[1]):
            if rows.masks[row, j]:
                log_chance = logits[i, j] - normaliser
                pull = clip.ent_coef * (log_chance + entropy)
                if len(magnet):
                    pull += clip.magnet_coef * (logits[i, j] - magnet[i, j] + away - distance)
                policy[j] = (policy[j] * pull - push * ((j == action) - policy[j])) / size
        step = values[i] - rows.values[row]
        error = rows.values[row] + min(max(step, -clip.value), clip.value) - rows.returns[row]
        inside = abs(step) <= clip.value
        by_values[i] = 2.0 * clip.vf_coef * error / size if inside else 0.0
        sums[0] -= min(max(ratio, low), high) * advantage if is_clipped else ratio * advantage
        sums[1] += error * error
        sums[2] += entropy
        sums[3] += ratio - 1.0 - change
        sums[4] += abs(ratio - 1.0) > clip.policy
        sums[5] += distance
