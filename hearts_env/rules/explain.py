"""The rules as sentences, made from the fields of ``Rules``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hearts_env.cards import SUIT_NAMES, SUITS, card_text
from hearts_env.rules.rules import DESCRIPTIONS, FIELDS, FLAGS, MEANINGS, Rules

_NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def option_rows(rules: Rules) -> list[tuple[str, str, str]]:
    """Return every field as (name, value as in ``name=value``, meaning)."""
    plain = rules.to_dict()
    return [(name, _shown(plain[name]), meaning_of(name)) for name in FIELDS]


def meaning_of(field: str) -> str:
    """Return the first sentence of a field's description, its first letter in lower case."""
    first = DESCRIPTIONS[field].split(". ")[0]
    return first[:1].lower() + first[1:].removesuffix(".")


def _shown(value: object) -> str:
    # Without spaces, which separate the words of a rule set's text.
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def explain(rules: Rules, *, match: bool = True) -> list[str]:
    """Return the rules as sentences: the aim, then the order of play.

    Args:
        rules: the rules.
        match: if True, also say how a match ends.
    """
    deal = [*aim(rules), *_deal(rules), *_exchange(rules), *_play(rules), *_scoring(rules)]
    return [*deal, *_settlement(rules), *(match_sentences(rules) if match else ())]


def aim(rules: Rules) -> list[str]:
    """Return what wins and which suit is trump, as sentences."""
    worths = {card: rules.card_points.get(card, 0) for card in rules.deck}
    hearts = {worth for card, worth in worths.items() if card[1] == "H"}
    costs: list[tuple[str, int]] = []
    gifts: list[tuple[str, int]] = []
    if len(hearts) == 1 and min(hearts) > 0:
        costs.append(("each heart", hearts.pop()))
        worths = {card: worth for card, worth in worths.items() if card[1] != "H"}
    for card, worth in worths.items():
        named = "the queen of spades" if card == "QS" else card_text(card)
        if worth:
            (costs if worth > 0 else gifts).append((named, abs(worth)))
    said = [f"{named} {worth}" for named, worth in costs]
    if costs:
        said[0] = "{} costs {}".format(*costs[0])
    said += [f"{named} takes {worth} off" for named, worth in gifts]
    sentences = [f"Take as few points as you can: {', '.join(said)}."]
    if rules.trump:
        suit = SUIT_NAMES[SUITS.index(rules.trump)]
        sentences.append(f"{suit.capitalize()} are trump: they beat every other suit.")
    return sentences


def _said(rules: Rules, field: str) -> str:
    """Return the meaning of a field's value in these rules."""
    meaning = MEANINGS[field][getattr(rules, field)]
    return meaning.replace("`moon_points`", str(rules.moon_points))


def _count(number: int) -> str:
    return _NUMBERS[number] if 0 < number < len(_NUMBERS) else str(number)


def _cards(number: int) -> str:
    return f"{_count(number)} card{'s' if number != 1 else ''}"


def _points(number: int) -> str:
    return f"{_count(number)} point{'s' if abs(number) != 1 else ''}"


def _deal(rules: Rules) -> Iterator[str]:
    deck = rules.deck
    by_suit = {suit: "".join(card[0] for card in deck if card[1] == suit) for suit in SUITS}
    if len(set(by_suit.values())) == 1 and rules.removed:
        ranks = " ".join(by_suit["C"]).replace("T", "10")
        cards = f"{len(deck)} cards ({ranks} of each suit)"
    elif rules.removed:
        is_small = len(deck) < len(rules.removed)
        listed = " ".join(map(card_text, deck if is_small else rules.removed))
        cards = f"{len(deck)} cards ({'' if is_small else 'without '}{listed})"
    else:
        cards = f"{len(deck)} cards"
    yield f"{_count(rules.players).capitalize()} players, {cards}; ace is high."
    rest = ""
    if rules.kitty_size:
        verb = "is" if rules.kitty_size == 1 else "are"
        rest = f"; {_cards(rules.kitty_size)} {verb} left face down, the kitty"
    yield f"Each player gets {_cards(rules.hand_size)}{rest}."


def _exchange(rules: Rules) -> Iterator[str]:
    if not rules.pass_count:
        return
    if set(rules.pass_rotation) == {"hold"}:
        yield "No one passes a card in any deal."
        return
    ways = {"left": "to the left", "right": "to the right", "across": "across"}
    *turns, last = [ways.get(direction, "not at all") for direction in rules.pass_rotation]
    where = f"in turn {', '.join(turns)} and {last}, deal by deal" if turns else f"always {last}"
    passes = f"Before play each player passes {_cards(rules.pass_count)}"
    yield f"{passes}, unseen and all at once: {where}."


def _play(rules: Rules) -> Iterator[str]:
    lead = _said(rules, "first_lead")
    yield f"{lead[:1].upper()}{lead[1:]} to the first trick."
    yield "Follow the suit led if you can; if not, play any card."
    if not rules.points_on_first_trick:
        yield "On the first trick no card that costs points, unless you hold nothing else."
    trump = ""
    if rules.trump:
        trump = f"the highest trump ({SUIT_NAMES[SUITS.index(rules.trump)]}) in it, else "
    yield f"A trick goes to {trump}the highest card of the suit led; its taker leads the next."
    for flag in FLAGS:
        if getattr(rules, flag) and not getattr(Rules, flag):
            said = meaning_of(flag).removeprefix("whether ")
            yield f"{said[:1].upper()}{said[1:]}."
    yield from _queen(rules)
    if rules.break_on is None:
        yield "Hearts may be led at any time."
        return
    yield (
        f"Hearts may not be led before they are broken (by {_said(rules, 'break_on')}), unless "
        f"{_said(rules, 'unbroken_lead')}."
    )


def _queen(rules: Rules) -> Iterator[str]:
    """Yield the rule that the queen of spades must follow suit, if it matters here."""
    if "QS" in rules.deck and rules.card_points.get("QS") and not rules.queen_any_time:
        yield "The queen of spades must follow suit, too."


def _scoring(rules: Rules) -> Iterator[str]:
    if rules.kitty_to != "nobody":
        to = _said(rules, "kitty_to")
        yield f"The kitty goes to {to}, is turned up, and counts like taken cards."
    elif rules.kitty_size:
        yield "The kitty is dead: no one sees or gets it."
    if rules.moon != "none":
        dead = ""
        if rules.kitty_size and rules.kitty_to == "nobody":
            dead = ", except those in the kitty,"
        what = _said(rules, "moon")
        yield f"A player who takes every card that costs points{dead} shoots the moon: {what}."
    if rules.no_trick_points:
        unless = ", unless the moon was shot" if rules.moon != "none" else ""
        off = _points(-rules.no_trick_points)
        yield f"A player who takes no trick gets {off} off{unless}."


def _settlement(rules: Rules) -> Iterator[str]:
    if rules.settlement == "points":
        return
    yield f"After a deal {_said(rules, 'settlement')}."
    unpaid = ["the moon"] if rules.moon != "none" else []
    unpaid += ["the points off for no trick"] if rules.no_trick_points else []
    if unpaid:
        verb = "counts" if unpaid == ["the moon"] else "count"
        yield f"Chips are paid for cards alone: {' and '.join(unpaid)} {verb} only in the scores."


def match_sentences(rules: Rules) -> Iterator[str]:
    """Yield the sentences that say how a match ends."""
    yield from _end_by_points(rules) if rules.settlement == "points" else _end_by_chips(rules)
    if rules.max_deals:
        deals = f"{_count(rules.max_deals)} deal{'s' if rules.max_deals != 1 else ''}"
        yield f"After {deals} it ends in any case, even with a shared first place."


def _end_by_points(rules: Rules) -> Iterator[str]:
    score, is_reached = rules.end_score, rules.end_when == "reached"
    past_it = f"to {score} or more" if is_reached else f"above {score}"
    yield (
        f"Deals are played until a total has reached {score}."
        if is_reached
        else f"Deals are played until a total is above {score}; at exactly {score} play continues."
    )
    yield "The lowest total wins; if it is shared, another deal is played."
    if rules.tie == "all_past_limit":
        limit = score if is_reached else score + 1
        seats = range(rules.players)
        before = " and ".join(str(limit - 5) for _ in seats)
        after = " and ".join(str(limit + 1 + 7 * seat) for seat in seats)
        yield (
            f"If one deal takes every total {past_it}, another deal is played too, even if one "
            f"total is lower: a match that goes from {before} to {after} is not over. It ends "
            "after the next deal that leaves a lowest total which is not shared."
        )


def _end_by_chips(rules: Rules) -> Iterator[str]:
    yield f"Each player starts with {rules.stake} chips."
    target = f" or has won {rules.target}" if rules.target else ""
    yield f"The match ends when a player has lost all chips{target}."
    yield "The most chips win; if first place is shared, another deal is played."
