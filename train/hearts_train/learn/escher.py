"""ESCHER: counterfactual regrets without division by small chances (McAleer et al. 2023).

As in Deep CFR (Brown et al. 2019) play follows the regrets that a network has learnt, and the
player is the average of that play. Three networks:

1. **Values**, of the actions for who decides by the present policy pi (``dqn.py``, but the value of
   the next decision is its mean under pi, not its maximum): Q(a) = r + gamma sum_b pi(b) Q'(b).
2. **Regrets**, the mean over the run of Q(a) - sum_b pi(b) Q(b), from a reservoir. Play matches
   them (Hart and Mas-Colell 2000): pi(a) is in proportion to the positive part of a's regret, and
   where there is none the action with the largest one is taken.
3. **The average policy**, the player, learnt from a reservoir of the policies in use (``nfsp.py``,
   with its settings).

In each deal one seat explores: it plays at random, whatever has been learnt (the paper's fixed
sampling policy), so that its information sets are met in proportion to the others' chances of
leading there and to weights that never change: regrets need no correction by chances that may be
small. It learns values and regrets; from the other seats' decisions the average is learnt, in
proportion to their own chances of coming there.

The paper values whole positions and trains each network anew in every iteration; here values are of
information sets, and all networks go on learning. With ``nfsp.min_reservoir_prob`` above 0 early
regrets and policies count less, as in linear CFR.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from hearts_agents.envs.arena_kernel import draw
from hearts_env.support.arrays import Array, Floats, Floats32, Ints
from hearts_env.support.jit import jit
from hearts_train.learn.actor_critic import Adam, Replicas
from hearts_train.learn.dqn import tensor, transitions
from hearts_train.learn.learner import Saved
from hearts_train.learn.nfsp import RESPONSE, NFSPLearner
from hearts_train.learn.replay import Column, Reservoir, check_size, legal, seen


class ESCHERLearner(NFSPLearner):
    """Values, regrets and their average, of all seats but those of the opponents."""

    algorithm = "ESCHER"

    def _make_parts(self) -> None:
        super()._make_parts()
        settings, actions = self.config.nfsp, self.rules.num_actions
        self.regrets = Replicas(self._make_network(), self.config.threads)
        self.regret_optimizer = Adam(self.regrets.weights)
        columns = {
            "seen": seen(self.encoder, self.rules),
            "legal": legal(self.rules),
            "regrets": Column((actions,), np.dtype(np.float32)),
        }
        check_size("nfsp.reservoir", settings.reservoir, columns, self.config.env.observation)
        self.regret_memory = Reservoir(settings.reservoir, columns, settings.min_reservoir_prob)
        rows = [(len(games.rows.actions), actions) for games in self.games]
        self._chances = [np.zeros(shape, np.float32) for shape in rows]
        """The policy by which each row's decision was to be made."""
        self._gains = [np.zeros(shape, np.float32) for shape in rows]
        """What each action was worth more than that policy."""

    def _goal(self) -> dict[str, Column]:
        return {"chances": Column((self.rules.num_actions,), np.dtype(np.float32))}

    def _goals(self, rows: dict[str, Array]) -> torch.Tensor:
        return tensor(rows["chances"])

    # -- playing -----------------------------------------------------------------------------------
    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        """The logits of the policy that decides, and in place of values whether it explores."""
        games = self.games[thread]
        observations = torch.from_numpy(games.observations[rows])
        is_legal = torch.from_numpy(games.rows.masks[rows]).to(self.device) != 0
        worth, _ = self._forward(self.replicas.networks[thread], observations)
        found, _ = self._forward(self.regrets.networks[thread], observations)
        policy = matched(found, is_legal)
        gains = worth - (policy * worth).sum(1, keepdim=True)
        self._chances[thread][rows] = policy.cpu().numpy()
        self._gains[thread][rows] = gains.masked_fill(~is_legal, 0.0).cpu().numpy()
        explores = np.empty(len(gains), np.float32)
        draw_explorers(games.batch.seeds, games.batch.player, self.rules.players, explores)
        is_random = torch.from_numpy(explores).to(self.device)[:, None] != 0
        chances = torch.where(is_random, is_legal.float(), policy)
        return chances.clamp(min=1e-12).log().cpu().numpy(), explores

    # -- learning ----------------------------------------------------------------------------------
    def _take_in(self, ready: list[Ints]) -> dict[str, float]:
        """Store an update's decisions: of explorers for values and regrets, else for the mean."""
        self._rng = self._drawing()
        for thread, (games, rows) in enumerate(zip(self.games, ready, strict=True)):
            explores = games.rows.values != 0
            self.memory.add(transitions(games, rows[explores[rows]]), self._rng)
            new = np.arange(games.size - games.num_games * self.config.ppo.num_steps, games.size)
            for memory, name, table, some in (
                (self.regret_memory, "regrets", self._gains[thread], new[explores[new]]),
                (self.reservoir, "chances", self._chances[thread], new[~explores[new]]),
            ):
                looks = {"seen": games.observations[some], "legal": games.rows.masks[some]}
                memory.add(looks | {name: table[some]}, self._rng)
        return {"remembered": len(self.memory), "responses": len(self.reservoir)}

    def _minibatch(self, parts: tuple[Ints, ...], size: int) -> Floats:
        """The gradient of a minibatch of values; the average policy and the regrets take a step."""
        sums = super()._minibatch(parts, size)
        if len(self.regret_memory):
            self._regret(self._draw(self.regret_memory))
        return sums

    def _regret(self, parts: tuple[Ints, ...]) -> None:
        """Step towards the regrets of some rows, by their squared errors."""
        size = sum(map(len, parts))

        def work(thread: int) -> Floats:
            rows = self.regret_memory.read(parts[thread])
            is_legal, goals = (tensor(rows[name]).to(self.device) for name in ("legal", "regrets"))
            found, _ = self._forward(self.regrets.networks[thread], tensor(rows["seen"]))
            loss = (is_legal * (found - goals)).square().sum() / size
            torch.autograd.backward([loss])
            return np.zeros(0)

        self._share(self.regrets, work)
        self._descend(self.regrets, self.regret_optimizer, self.learning_rate)

    def _targets(self, thread: int, rows: dict[str, Array]) -> torch.Tensor:
        """The targets of the action values of some rows of the buffer: means under the policy."""
        after = tensor(rows["seen_next"])
        rewards, goes_on, is_legal = (
            tensor(rows[name]).to(self.device) for name in ("rewards", "goes_on", "legal_next")
        )
        with torch.no_grad():
            found, _ = self._forward(self.regrets.networks[thread], after)
            worth, _ = self._forward(self.target.networks[0], after)
            mean = (matched(found, is_legal != 0) * worth).sum(1)
        return rewards + self.config.ppo.gamma * goes_on * mean

    # -- state -------------------------------------------------------------------------------------
    def _parameters(self) -> Iterable[torch.Tensor]:
        return [*super()._parameters(), self.regrets.weights]

    def _saved(self) -> dict[str, Saved]:
        return super()._saved() | {
            "regrets": self.regrets,
            "regret_optimizer": self.regret_optimizer,
            "regret_memory": self.regret_memory,
        }


def matched(regrets: torch.Tensor, is_legal: torch.Tensor) -> torch.Tensor:
    """Chances in proportion to positive regrets; if there are none, 1 for the best legal action.

    All are ``(n, actions)``; each row has a legal action.
    """
    positive = regrets.clamp(min=0.0).masked_fill(~is_legal, 0.0)
    total = positive.sum(1, keepdim=True)
    best = regrets.masked_fill(~is_legal, -torch.inf).argmax(1, keepdim=True)
    alone = torch.zeros_like(regrets).scatter(1, best, 1.0)
    return torch.where(total > 0.0, positive / total.clamp(min=1e-30), alone)


@jit
def draw_explorers(deals: Ints, movers: Ints, players: int, explores: Floats32) -> None:
    """Draw from each deal's seed which seat explores in it, one of `players`.

    Args:
        deals: ``(n,)``, the seeds of the deals.
        movers: ``(n,)``, who is to move.
        players: how many there are.
        explores: ``(n,)``, written: 1 where it is who is to move, else 0.
    """
    for i in range(len(deals)):
        explores[i] = draw(deals[i], RESPONSE) % np.uint64(players) == np.uint64(movers[i])
