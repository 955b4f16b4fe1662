"""A searching player of two-player matches, which plays for the match instead of the deal.

``pimc`` plays the card with the best mean margin over the hidden worlds. Points are not worth the
same at every score: who is far behind needs a bad deal of the other's, who is nearly through needs
no more than a safe one. ``match`` asks, for each card and each world, with which scores the deal
would end double dummy, and plays the card with the best mean chance to win the match from the
totals after that (``hearts_env.solve.match_equity``). The totals before the deal are in each view.
"""

from __future__ import annotations

import numpy as np

from hearts_agents.base import Agent, RandomState, check_turn
from hearts_agents.search import Pimc
from hearts_agents.spec import make_agent
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env.solve.beliefs import check_view
from hearts_env.solve.deal_results import check_same_deals, load_results, shipped_results
from hearts_env.solve.match_equity import MatchEquity
from hearts_env.support.arrays import Floats, Ints

_TIE = 1e-9


class MatchPlayer(Agent):
    """Plays the card with the best mean chance to win the match, over all worlds."""

    name = "match"
    plays = "two-player games without an exchange, for the match"

    def __init__(
        self, seed: int | None = None, player: str | Agent = "pimc", results: str | None = None
    ) -> None:
        """A player of two-player games.

        Args:
            seed: of the random numbers of `player`.
            player: who examines the worlds: ``pimc`` or ``pimc_belief``, or one of them made.
            results: a file of deal results (``hearts analyse --unit match --save``), from which the
                chances are computed; None: those that come with the package.

        Raises:
            HeartsError: if `player` is another one, or the file cannot be used.
        """
        made = make_agent(player, seed=seed) if isinstance(player, str) else player
        if not isinstance(made, Pimc):
            raise HeartsError(
                f"player: {player!r} does not say how deals would end; give pimc or pimc_belief",
                value=player,
            )
        self.searcher = made
        self._results = None if results is None else load_results(results)
        self._equity: MatchEquity | None = None

    @property
    def model(self) -> Agent | None:
        """Whom the searching player takes the other player for, if it does."""
        return getattr(self.searcher, "model", None)

    def check_rules(self, rules: Rules) -> None:
        """Refuse what the searching player does, and rules whose scores do not follow from margins.

        Raises:
            HeartsError: if `rules` is such a game, or there are no results of its deals.
        """
        self.searcher.check_rules(rules)
        check_scores_follow(rules)
        if self._results is None:
            shipped_results(rules)
        else:
            check_same_deals(self._results, rules)

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        legal = view.legal_actions()
        if len(legal) == 1:
            return legal[0]
        check_view(view)
        if view.phase == "moon":
            scores = moon_scores(view.rules)
            return legal[int(self._chances(view)[scores[:, 0], scores[:, 1]].argmax())]
        hands, weights, margins = self.searcher.examined(view)
        chances = self.equities(view, hands, margins)
        means = weights @ np.column_stack([chances, margins]) / weights.sum()
        own, margin = means[: len(legal)], means[len(legal) :]
        # Of cards that win the match equally often the one with the best margin, then the lowest.
        best = own >= own.max() - _TIE
        return legal[int((best & (margin >= margin[best].max() - _TIE)).argmax())]

    def equities(self, view: PlayerView, hands: Ints, margins: Ints) -> Floats:
        """The chance to win the match after the double-dummy end of each card in each world.

        Args:
            view: the player's.
            hands: ``(worlds,)``, the other's hand in each, as a bit mask.
            margins: ``(worlds, cards)``, with what margin the deal ends.

        Returns:
            ``(worlds, cards) float64``.
        """
        table, rules = self._chances(view), view.rules
        points = points_in_play(view, hands)[:, None]
        moons = np.zeros(margins.shape, np.int64)
        if rules.moon != "none":
            moons = np.where(np.abs(margins) == rules.moon_points, np.sign(margins), 0)
        own, other = (points - margins) // 2, (points + margins) // 2
        ends = table[np.where(moons == 0, own, 0), np.where(moons == 0, other, 0)]
        if not moons.any():
            return ends
        scores = moon_scores(rules)  # of the shooter, and of the other
        shot = table[scores[:, 0], scores[:, 1]].max()
        suffered = table[scores[:, 1], scores[:, 0]].min()  # the shooter chooses
        return np.where(moons > 0, shot, np.where(moons < 0, suffered, ends))

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`."""
        self.searcher.reseed(seed)

    def random_state(self) -> RandomState:
        """The state of the draws of the searching player."""
        return self.searcher.random_state()

    def restore_random(self, state: RandomState) -> None:
        """Continue the draws from what ``random_state`` returned."""
        self.searcher.restore_random(state)

    def _chances(self, view: PlayerView) -> Floats:
        """The chance to win the match by own score and the other's in this deal."""
        player, rules = view.player, view.rules
        if self._equity is None or self._equity.rules != rules:
            self.check_rules(rules)
            self._equity = MatchEquity(rules, self._results)
        own, other = view.totals[player], view.totals[1 - player]
        dealt = view.dealer == player
        return self._equity.by_scores(own, other, dealt=dealt, deal_number=view.deal_number)


def check_scores_follow(rules: Rules) -> None:
    """Refuse rules under which both scores do not follow from the margin of a deal.

    Raises:
        HeartsError: if they are such.
    """
    worth = [rules.card_points.get(card, 0) for card in rules.deck]
    wrong = ""
    if rules.kitty_size and rules.kitty_to != "nobody":
        wrong = f"kitty_to: {rules.kitty_to!r}"
    elif rules.no_trick_points:
        wrong = f"no_trick_points: {rules.no_trick_points}"
    elif min(worth) < 0:
        wrong = f"card_points: {min(worth)} for a card"
    elif rules.moon != "none" and rules.moon_points < sum(worth):
        wrong = f"moon_points: {rules.moon_points} for a moon, fewer than the {sum(worth)} points"
    if wrong:
        raise HeartsError(
            f"{wrong}: scores do not follow from margins, and match cannot play these rules; "
            "take pimc"
        )


def moon_scores(rules: Rules) -> Ints:
    """What a shooter and the other player may score, a row for each choice, in order of action."""
    off, others = (-rules.moon_points, 0), (0, rules.moon_points)
    rows = {"self_minus": [off], "others_plus": [others], "choose": [off, others]}
    return np.array(rows[rules.moon], np.int64)


def points_in_play(view: PlayerView, hands: Ints) -> Ints:
    """The points of all cards that are dealt, for each hand that the other may have, ``(n,)``."""
    r, v, player = view.rules.vector, view.vector, view.player
    seen = int(k.hand_at_start(v, player) | v[k.PLAYED + k.SEAT * (1 - player)])
    held = hands | seen
    points = np.zeros(len(hands), np.int64)
    for card in range(len(view.rules.deck)):
        points += r[k.R_POINTS_OF + card] * (held >> card & 1)
    return points
