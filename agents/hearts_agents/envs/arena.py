"""Many episodes at once, with one learner in each and opponents in the other seats.

This is the core of the vector environments. One compiled loop over all games plays the baselines.
Every other agent answers ``act_batch`` once for all games in which it is to act. The environment's
seed and the episode's number determine the episode's seed, which determines the cards, the
learner's seat, the opponents and their random numbers. So game i of many equals the game of a
single environment with the same seed.

An episode's seed reveals its deal. Infos never contain it, and agents outside the compiled loop are
seeded with ``secret_seed``, from which it cannot be computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Agent
from hearts_agents.baseline_kernel import PRO, make_memory
from hearts_agents.baselines import Baseline
from hearts_agents.envs.arena_kernel import (
    ENDED,
    WAITS,
    Cast,
    advance,
    draw_episodes,
    play_learner,
    read_chips,
    read_results,
)
from hearts_agents.envs.opponents import OpponentPool, check_seat
from hearts_env import BatchGame, Game, HeartsError, IllegalActionError, Rules
from hearts_env import kernel as k
from hearts_env.batch.kernel import find_illegal
from hearts_env.encoders import Encoder
from hearts_env.envs.infos import NOBODY, no_result, seat_number
from hearts_env.envs.observations import DType, Observation, ObservationFormat
from hearts_env.envs.options import (
    EPISODES,
    ILLEGAL_ACTIONS,
    EpisodeOptions,
    check_begun,
    check_deals_left,
)
from hearts_env.envs.rewards import ILLEGAL_REWARD, Rewarder, earned, pay_rows
from hearts_env.game.chips import points_settled
from hearts_env.game.match import Scoreboard, next_deal
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import (
    check_choice,
    check_flag,
    check_max_deals,
    check_number,
    check_seed,
    listed,
    whole,
    whole_numbers,
)
from hearts_env.support.arrays import Bools, Floats, Ints
from hearts_env.support.errors import quoted
from hearts_env.support.workers import Threads

MAX_FORCED_DEALS = 10_000


class ArenaOptions(EpisodeOptions, total=False):
    """The options of environments with many episodes, as in `Arena`, with the same defaults."""

    num_threads: int
    opponent: Any
    seat: int | str
    skip_forced: bool
    action_mask: str


@dataclass
class Finished:
    """The episodes that a step ended. All arrays have shape ``(len(games), ...)``."""

    games: Ints
    """The numbers of their games, ascending."""
    truncated: Bools
    """True for a match that was cut off."""
    facts: dict[str, NDArray[Any]]
    """The final infos by key (see ``Arena.no_facts``)."""


class Arena:
    """`num_envs` episodes side by side. When an episode has ended, `begin` starts the next one.

    ``over`` marks games whose episode has ended and whose next one has not begun. Their actions are
    ignored, and their masks are empty. With ``acts_when_over``, their masks allow action 0 alone,
    because a policy must give some action and learns nothing from a forced one.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        num_threads: int = 1,
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        dtype: DType = None,
        action_mask: str = "info",
        illegal_action: str = "terminate",
        max_deals: int | None = None,
    ) -> None:
        """Make the games. Call ``reset`` first. The arguments are those of `HeartsEnv`.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        self.rules = rules = Rules.make(rules, players)
        self.is_match = check_choice("episode", episode, EPISODES) == "match"
        self.rewarder = Rewarder(rules, reward, episode=episode)
        self.form = ObservationFormat(rules, observation, dtype, action_mask)
        self.illegal_action = check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        self.max_deals = check_max_deals(max_deals, episode)
        self.pool = OpponentPool.of(opponent, rules)
        self.seat = check_seat(rules, seat)
        self.skip_forced = check_flag("skip_forced", skip_forced)
        self.acts_when_over = False
        self.is_reset = False
        self.batch = BatchGame(
            self.rules,
            check_number("num_envs", num_envs, 1, 10_000_000),
            observation=self.form.encoder,
            autodeal=False,
            num_threads=num_threads,
        )
        n = self.num_envs = self.batch.num_games
        self.space = self.form.space()
        self.learner: Ints = np.zeros(n, np.int64)
        self.opponent: Ints = np.zeros(n, np.int64)
        self.seeds: Ints = np.zeros(n, np.int64)
        self.episode_counts: Ints = np.zeros(n, np.int64)
        self.episode_seeds: Ints = np.zeros(n, np.int64)
        self.returns: Floats = np.zeros(n)
        self.lengths: Ints = np.zeros(n, np.int64)
        self.over: Bools = np.zeros(n, np.bool_)
        self._places: Ints = np.zeros((n, self.rules.players), np.int64)
        self._rngs = np.zeros(n, np.uint64)
        self._paid: Ints = np.zeros(n, np.int64)
        self._carry: Floats = np.zeros(n)  # rewards earned before the learners' next decisions
        self._stand: Ints = np.zeros(n, np.int64)
        self._all: Ints = np.arange(n)
        self._boards = [Scoreboard(self.rules)] * n  # `begin` gives every match its own
        self._version = -1
        self._threads = Threads(self.batch.num_threads)
        self._read_pool()

    @property
    def states(self) -> Ints:
        """The states of the games, see ``BatchGame.states``."""
        return self.batch.states

    # -- the two commands ----------------------------------------------------------------------
    def reset(
        self,
        seed: Any,
        random: np.random.Generator,
        games: Ints | None = None,
        given: object = None,
    ) -> None:
        """Begin episodes in `games`, or in all games.

        Args:
            seed: the seed of the first game, from which the seeds of the others count up, or a list
                of one seed per game. A None in the list means a random seed. With `games`, it means
                that the game continues its sequence of episodes. If None, all games continue their
                sequences.
            random: draws the seeds of new sequences.
            games: numbers of games. If None, all games.
            given: a `Game` from which all episodes continue, or a list of one per environment, in
                which None means a new deal. If None, all games are dealt.

        Raises:
            HeartsError: if `seed` or `given` has another type or length.
        """
        starts = self._check_given(given)
        if games is None or not self.is_reset:
            if seed is not None or not self.is_reset:
                self.seeds[:] = env_seeds(seed, self.num_envs, random)
                self.episode_counts[:] = 0
                self.pool.reseed(secret_seed(int(self.seeds[0]), "opponents"))
            games = self._all
        elif seed is not None:
            seeds = env_seeds(seed, self.num_envs, random)
            new = [g for g in games.tolist() if whole(seed) is not None or seed[g] is not None]
            self.seeds[new] = seeds[new]
            self.episode_counts[new] = 0
        self.is_reset = False  # if `begin` raises, everything must be reset
        self.begin(games, starts)
        self.is_reset = True

    def _check_given(self, given: object) -> dict[int, Game]:
        """Check the given games. Return them by the number of their environment."""
        if given is None:
            return {}
        if isinstance(given, list | tuple):
            if len(given) != self.num_envs:
                raise HeartsError(
                    f"game: {len(given)} games for {self.num_envs} environments; give one each"
                )
            listed = {g: (f"game[{g}]", game) for g, game in enumerate(given) if game is not None}
        else:
            listed = dict.fromkeys(range(self.num_envs), ("game", given))
        games: dict[int, Game] = {}
        for g, (name, game) in listed.items():
            games[g] = check_begun(name, game, self.rules)
            if self.is_match:
                board = Scoreboard.before(games[g])
                check_deals_left(name, board.num_deals, self.max_deals)
        return games

    def begin(self, games: Ints, given: Mapping[int, Game] | None = None) -> None:
        """Begin the next episode in each of `games`, up to the learner's first decision.

        Args:
            games: numbers of games.
            given: checked games from which some of the episodes continue, by game number. If None,
                all games are dealt.

        Raises:
            HeartsError: if the learner has nothing to decide.
        """
        given = {} if given is None else given
        self._read_pool()
        self.returns[games] = 0.0
        self.lengths[games] = 0
        self.over[games] = False
        r, seat = self.rules.vector, self.seat
        for _ in range(MAX_FORCED_DEALS):
            draw_episodes(
                r, games, self.seeds, self.episode_counts, self.episode_seeds, seat, self._cast
            )
            if self.is_match:
                for g in games.tolist():
                    board = self._boards[g] = Scoreboard(self.rules)
                    self.states[g] = next_deal(board, int(self.episode_seeds[g]), None).vector
            else:
                self.batch.reset(self.episode_seeds[games], games=games)
            self._paid[games] = 0
            if given:
                self._place(games, given)
            self._carry[games] = 0.0
            games = self._run(games, self._carry)
            if not len(games):  # the rest, by skip_forced or a given game, had no decision
                return
            if seat >= 0 and (stuck := given.keys() & set(games.tolist())):
                raise nothing_to_decide(min(stuck) if self.num_envs > 1 else None)
        if given:
            raise nothing_to_decide(int(games[0]))
        raise HeartsError("skip_forced: the learner has no decisions under these rules; omit it")

    def _place(self, games: Ints, given: Mapping[int, Game]) -> None:
        """Place the given games. Rewards earned before count as paid."""
        for g in games.tolist():
            if (game := given.get(g)) is None:
                continue
            self.states[g] = game.vector
            if self.is_match:
                self._boards[g] = Scoreboard.before(game)
            if self.rewarder.pays_tricks:
                seat = int(self.learner[g])
                self._paid[g] = earned(self.rules.vector, game.vector, self.rewarder.number, seat)

    def step(self, actions: Any) -> tuple[Floats, Bools, Finished | None]:
        """Play the learners' actions.

        Returns:
            Rewards ``(num_envs,) float64``, ended episodes ``(num_envs,) bool``, and the results of
            the ended episodes, or None if no episode has ended.

        Raises:
            HeartsError: if `actions` is not one whole number per environment.
            IllegalActionError: if an action is not in the action space or, under
                ``illegal_action="raise"``, is illegal now. Nothing is played.
        """
        acts, games, illegal = self._checked(actions)
        play_learner(self.rules.vector, self.states, games, acts)
        self.lengths[games] += 1
        self.lengths[illegal] += 1
        terminated = illegal if self.illegal_action == "terminate" else illegal[:0]
        if len(illegal) > len(terminated):
            self.batch.revoke(games=illegal)
            games = np.sort(np.concatenate([games, illegal]))
        rewards, self._carry = self._carry, np.zeros(self.num_envs)
        done = np.zeros(self.num_envs, np.bool_)
        done[self._run(games, rewards)] = True
        done[terminated] = True
        rewards[terminated] = ILLEGAL_REWARD
        self.returns += rewards
        if not done.any():
            return rewards, done, None
        self.over |= done
        return rewards, done, self._finish(np.flatnonzero(done), terminated)

    def _checked(self, actions: Any) -> tuple[Ints, Ints, Ints]:
        """Return the actions, the games with a legal action, and the games with an illegal action.

        Games that are over are in neither.
        """
        acts = whole_numbers(actions)
        if acts is None or acts.shape != (self.num_envs,):
            form = np.shape(acts) if acts is not None else type(actions).__name__
            raise HeartsError(
                f"actions: got {form}; give one whole number for each of {self.num_envs} "
                "environments"
            )
        bad = np.zeros(self.num_envs, np.bool_)
        num_bad = find_illegal(self.batch.legal, self._all, acts, bad)
        if not num_bad and not self.over.any():
            return acts, self._all, self._all[:0]
        illegal = np.flatnonzero(bad & ~self.over)
        outside = illegal[(acts[illegal] < 0) | (acts[illegal] >= self.rules.num_actions)]
        if len(outside):
            g = int(outside[0])
            raise IllegalActionError(
                f"actions: {acts[g]} in environment {g} is not an action of these rules; "
                f"give 0 to {self.rules.num_actions - 1}; nothing was played"
            )
        if len(illegal) and self.illegal_action == "raise":
            g = int(illegal[0])
            raise IllegalActionError(
                f"actions: {len(illegal)} illegal, the first {acts[g]} in environment {g}; "
                "nothing was played"
            )
        return acts, np.flatnonzero(~bad & ~self.over), illegal

    # -- reading -------------------------------------------------------------------------------
    def observe(self, games: Ints | None = None) -> Observation:
        """Return all learners' observations, ``(num_envs, ...)``, or those of `games`."""
        players = self.learner if games is None else self.learner[games]
        out = self.form.empty(len(players))
        self.batch.observe(out, games=games, players=players)
        return self.form.join(out, self.masks(games)) if self.form.mask_in_observation else out

    def masks(self, games: Ints | None = None) -> NDArray[np.int8]:
        """Return all learners' masks, a new array ``(num_envs, n) int8``, or those of `games`."""
        masks = self.batch.masks(games=games)
        over = self.over if games is None else self.over[games]
        if over.any():
            masks[over] = 0  # an illegal action may have ended it mid-game
            masks[over, 0] = self.acts_when_over
        return masks

    def no_facts(self) -> dict[str, Any]:
        """Return the info of an episode under way, without a mask. The arrays are read-only."""
        facts = no_result(self.rules, is_match=self.is_match)
        return {"seat": NOBODY, "opponent": NOBODY, **facts}

    # -- helpers -------------------------------------------------------------------------------
    def _read_pool(self) -> None:
        """Update the compiled loop's tables after a change of the pool."""
        if self._version == self.pool.version:
            return
        known = [compiled(entry.agent, self.rules) for entry in self.pool.entries]
        kinds = [-1 if baseline is None else baseline.policy for baseline in known]
        limits = [1 if baseline is None else baseline.worlds for baseline in known]
        self._cast = Cast(
            self.learner,
            self._places,
            self.opponent,
            self._rngs,
            np.array(kinds, np.int64),
            np.array(limits, np.int64),
            self.pool.cumulative,
        )
        self._memories = [make_memory(max(limits)) for _ in range(self.batch.num_threads)]
        self._version = self.pool.version

    def _run(self, games: Ints, rewards: Floats) -> Ints:
        """Play to the learners' next decisions and add their rewards. Return ended episodes."""
        over = [games[:0]]
        while len(games):
            self._move_opponents(games)
            pay_rows(
                self.rules.vector,
                self.states,
                games,
                self.learner,
                self.rewarder.number,
                self._paid,
                self.rewarder.scale,
                rewards,
            )
            ended = games[self._stand[games] == ENDED]
            if not self.is_match:
                return ended
            end = np.array([self._end_deal(g, rewards) for g in ended.tolist()], np.bool_)
            over.append(ended[end])
            games = ended[~end]
        return np.concatenate(over)

    def _end_deal(self, g: int, rewards: Floats) -> bool:
        """Settle a deal of a match. Return False if the match continues with the next deal."""
        board, r, state = self._boards[g], self.rules.vector, self.states[g]
        scores = [int(k.score(r, state, p)) for p in range(self.rules.players)]
        board.add(scores, points_settled(self.rules, state))
        net = self.rewarder.deal_end(board.last_net)
        if net is not None:
            rewards[g] += net[self.learner[g]]
        if board.is_over or board.num_deals == self.max_deals:
            shares = self.rewarder.episode_end(board.totals)
            if shares is not None:
                rewards[g] += shares[self.learner[g]]
            return True
        first = (int(state[k.DEALER]) - int(state[k.DEAL_NUMBER])) % self.rules.players
        self.states[g] = next_deal(board, int(self.episode_seeds[g]), first).vector
        return False

    def _move_opponents(self, games: Ints) -> None:
        """Play the opponents' actions up to the learners' next decisions or the deal's end."""
        while True:
            self._advance(games)
            waiting = games[self._stand[games] == WAITS]
            if not len(waiting):
                return
            places = self._places[waiting, self.states[waiting, k.PLAYER]]
            self.pool.play(self.batch, waiting, places)
            games = waiting

    def _advance(self, games: Ints) -> None:
        self._threads.share(
            lambda part, thread: advance(
                self.rules.vector,
                self.states,
                games[part],
                self._cast,
                self.skip_forced,
                self._memories[thread],
                self._stand,
                self.batch.legal,
            ),
            len(games),
        )

    def _finish(self, games: Ints, illegal: Ints) -> Finished:
        """Return the results of ended episodes. Those in `illegal` ended by an illegal action."""
        rules, n = self.rules, self.rules.players
        scores, points = np.empty((len(games), n), np.int64), np.empty((len(games), n), np.int64)
        shooters = np.empty(len(games), np.int64)
        read_results(rules.vector, self.states, games, scores, points, shooters)
        is_illegal, states = np.isin(games, illegal), self.states[games]
        facts = {
            "seat": self.learner[games],
            "opponent": self.opponent[games],
            "scores": scores,
            "points": points,
            "shooter": shooters,
            "offender": np.where(is_illegal, self.learner[games], states[:, k.REVOKER]),
        }
        if rules.settlement != "points":
            facts["chips"] = np.empty((len(games), n))
            read_chips(rules.vector, self.states, games, facts["chips"])
        truncated = np.zeros(len(games), np.bool_)
        if self.is_match:
            boards = [self._boards[g] for g in games.tolist()]
            truncated = ~is_illegal & [not board.is_over for board in boards]
            facts["totals"] = np.array([[float(t) for t in board.totals] for board in boards])
            facts["winner"] = np.array([seat_number(board.winner) for board in boards])
            over = np.flatnonzero(states[:, k.PHASE] == k.OVER)
            for i in over.tolist() if "chips" in facts else []:  # these include the pool
                facts["chips"][i] = [float(chips) for chips in boards[i].last_net]
        return Finished(games, truncated, facts)


def nothing_to_decide(place: int | None = None) -> HeartsError:
    """Return the error for a given game in which the learner has no decision left."""
    name = "game" if place is None else f"game[{place}]"
    return HeartsError(
        f"{name}: the learner has nothing left to decide in it; give an earlier position, or "
        "another seat"
    )


def compiled(agent: Agent, rules: Rules) -> Baseline | None:
    """Return `agent` if it is a baseline that the compiled loop can move, else None."""
    if not isinstance(agent, Baseline) or type(agent).__module__ != Baseline.__module__:
        return None
    return None if agent.policy >= PRO and rules.players != 2 else agent


def env_seeds(seed: Any, num_envs: int, fallback: np.random.Generator) -> Ints:
    """Return one seed per game, ``(num_envs,) int64``, as Gymnasium does.

    Args:
        seed: the first seed, from which the others count up, with 0 after 2**63 - 1, or a list of
            seeds, in which None means a random seed. If None, all seeds are random.
        num_envs: the number of games.
        fallback: draws the random seeds.

    Raises:
        HeartsError: if `seed` is none of these, out of range, or a list of another length.
    """
    if seed is None:
        return fallback.integers(2**62, size=num_envs)
    first = whole(seed)
    if first is not None:
        first = check_seed(first)
        return np.array([(first + i) % 2**63 for i in range(num_envs)], np.int64)
    given = listed(seed)
    if given is None:
        raise HeartsError(f"seed: {quoted(seed)} is not a whole number; give one, a list, or None")
    if len(given) != num_envs:
        raise HeartsError(f"seed: {len(given)} seeds for {num_envs} environments; give one each")
    random = fallback.integers(2**62, size=num_envs)
    return np.array(
        [random[i] if s is None else check_seed(s) for i, s in enumerate(given)], np.int64
    )
