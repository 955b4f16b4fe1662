"""Hints in words: what another player would do in your place, as lines of text."""

from __future__ import annotations

from hearts_env import PlayerView
from hearts_train.command.cardtext import CardText
from hearts_train.measure.hints import Hint, Worth


def describe(advice: Hint, view: PlayerView, cards: CardText, choices: dict[str, str]) -> list[str]:
    """A hint as lines of text.

    Args:
        advice: the hint.
        view: the position that it is for.
        cards: how cards are written.
        choices: words for actions that are not cards, by their names.
    """

    def named(action: int) -> str:
        name = view.rules.action_name(action)
        return choices.get(name) or cards.card(name)

    lines = [f"{advice.agent} would choose {named(advice.action)}."]
    if advice.worths:
        of = "sampled worlds" if advice.is_sample else "possible worlds, all of them"
        lines.append(f"Mean margin of the deal over {advice.worlds} {of}:")
        first = advice.worths[0]
        parts = [f"{named(first.action)} {_figure(first, is_sample=advice.is_sample)}"]
        for worth in advice.worths[1:]:
            words = "within noise" if advice.is_sample else "as good"
            near = f" ({words})" if worth.is_close else ""
            figure = _figure(worth, is_sample=advice.is_sample)
            parts.append(f"{named(worth.action)} {figure}{near}")
        lines.append("  " + ", ".join(parts))
    elif advice.chances:
        likely = [f"{named(a)} {chance:.0%}" for a, chance in advice.chances if chance >= 0.005]
        lines.append("Its probabilities: " + ", ".join(likely))
    return lines


def _figure(worth: Worth, *, is_sample: bool) -> str:
    return f"{worth.margin:+.1f}" + (f" ± {worth.half:.1f}" if is_sample else "")
