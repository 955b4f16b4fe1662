"""A played deal of any game, card by card, by what the players could know, estimated by a player.

Where there are more players than two, or an exchange, nobody solves a deal with all cards seen, and
the worlds are too many to weigh all. Here ``pro`` says what each legal card is worth: the mean
margin over a sample of worlds, each played to its end by ``standard``. The sample follows from the
position, so that the same deal gives the same figures. A card counts as worse than the best only
where its worlds show that (95 %), else nothing is lost by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hearts_agents.baselines import Pro
from hearts_env import Game
from hearts_env.support.progress import Progress
from hearts_train.measure.analysis import BLUNDER, SLIP, ending_of, possessive, subject
from hearts_train.measure.hints import values


@dataclass(frozen=True)
class SampledMoment:
    """One card of a deal.

    Attributes:
        number: which action of the deal, from 0.
        trick: its trick, from 1.
        player: who played it.
        card: what was played.
        means: the mean margin of the deal for the player, by legal card.
        half: half the 95 % interval of that, over worlds; 0 where all worlds were weighed.
        close: the cards that the sample has not shown to be worse than the best.
        worlds: how many worlds were weighed.
        sample: whether there are more.
    """

    number: int
    trick: int
    player: int
    card: str
    means: dict[str, float]
    half: dict[str, float]
    close: list[str]
    worlds: int
    sample: bool

    @property
    def expected_loss(self) -> float:
        """Points lost by this card, 0 where it has not been shown to be worse."""
        if self.card in self.close:
            return 0.0
        return max(self.means.values()) - self.means[self.card]

    @property
    def better(self) -> list[str]:
        """The best cards: those with the best mean."""
        best = max(self.means.values())
        return [card for card, value in self.means.items() if value >= best - 1e-9]

    @property
    def mark(self) -> str:
        """``?`` for a slip, ``??`` for a blunder."""
        loss = self.expected_loss
        return "??" if loss >= BLUNDER else "?" if loss >= SLIP else ""


@dataclass(frozen=True)
class SampledAnalysis:
    """A deal and all its cards.

    Attributes:
        game: the deal as it was played.
        moments: the cards in order.
        names: what the players are called.
    """

    game: Game
    moments: tuple[SampledMoment, ...]
    names: tuple[str, ...]

    def expected_loss(self, player: int) -> float:
        """What a player lost in all by what it could know."""
        return sum(m.expected_loss for m in self.moments if m.player == player)

    def to_json(self) -> dict[str, Any]:
        """Everything, of types that JSON knows."""
        return {
            "rules": self.game.rules.name,
            "scores": self.game.scores() if self.game.is_over else None,
            "players": [
                {"name": name, "expected_loss": self.expected_loss(p)}
                for p, name in enumerate(self.names)
            ],
            "cards": [
                {**asdict(m), "expected_loss": m.expected_loss, "better": m.better}
                for m in self.moments
            ],
        }


def analyse_sampled(
    game: Game, *, progress: Progress | None = None, names: Sequence[str] | None = None
) -> SampledAnalysis:
    """Estimate every card of a deal of any game; cards passed in an exchange are not judged.

    Args:
        game: a game, played to the end or not.
        progress: called with the actions done and all actions.
        names: what the players are called: ``Record.names()``.
    """
    pro, replay = Pro(seed=0), game.start()
    moments = []
    for number, action in enumerate(game.actions):
        if progress is not None:
            progress(number, len(game.actions))
        if action < 0:
            break
        if replay.phase == "play":
            moments.append(estimate(replay, number, action, pro))
        replay.play(action)
    told = names or [f"player {p}" for p in range(game.rules.players)]
    return SampledAnalysis(game, tuple(moments), tuple(told))


def estimate(game: Game, number: int, action: int, pro: Pro) -> SampledMoment:
    """What each legal card of a position in the play is worth, and which is played."""
    assert game.player is not None
    advice = values(pro, game.view(game.player))
    name = game.rules.action_name
    worths = {worth.action: worth for worth in advice.worths}
    return SampledMoment(
        number,
        game.trick_number + 1,
        game.player,
        name(action),
        {name(a): worths[a].margin for a in game.legal_actions()},
        {name(a): worths[a].half for a in game.legal_actions()},
        [name(a) for a in game.legal_actions() if worths[a].is_close],
        advice.worlds,
        advice.is_sample,
    )


# ---- showing -------------------------------------------------------------------------------------
COLUMNS = ["trick", "player", "card", "worth", "lost", "worlds", "better"]


def sampled_rows(analysis: SampledAnalysis) -> list[list[str]]:
    """A row per card: trick, player, card, its worth for the player, what it lost, worlds."""
    lines = []
    for m in analysis.moments:
        forced = len(m.means) == 1
        half = f" ± {m.half[m.card]:.1f}" if m.sample else ""
        better = "" if forced or not m.expected_loss else " ".join(m.better[:3])
        lines.append(
            [
                str(m.trick),
                analysis.names[m.player],
                f"{m.card} {m.mark}".rstrip(),
                f"{m.means[m.card]:+.1f}{half}",
                "" if forced else f"{m.expected_loss:.1f}" if m.expected_loss else "-",
                "" if forced else str(m.worlds),
                better,
            ]
        )
    return lines


def sampled_summary(analysis: SampledAnalysis) -> list[str]:
    """The result of the deal, in sentences."""
    game, names = analysis.game, analysis.names
    lines = []
    if game.is_over:
        scores = zip(names, game.scores(), strict=True)
        lines.append("Played: " + ", ".join(f"{name} {score}" for name, score in scores) + ".")
    lines += ending_of(game, names, len(analysis.moments))
    for p, name in enumerate(names):
        who = "you" if name == "You" else "it"
        lines.append(
            f"{subject(name)} lost {analysis.expected_loss(p):.1f} points by what {who} could know."
        )
    worst = max(analysis.moments, key=lambda m: m.expected_loss, default=None)
    if worst is not None and worst.expected_loss >= SLIP:
        lines.append(
            f"The costliest card was {possessive(names[worst.player])} {worst.card} in trick "
            f"{worst.trick}: {' or '.join(worst.better[:3])} is {worst.expected_loss:.1f} better."
        )
    lines.append(
        "Worths are pro's estimates: mean margins over sampled worlds, each played to its end by "
        "standard."
    )
    return lines
