"""A bot in Python for `exec:`, without any package. docs/agents.md describes the protocol.

It follows suit with the highest card that does not take the trick. Otherwise it plays its lowest
legal card.
"""

import json
import sys

RANKS = "23456789TJQKA"
SUITS = "CDSH"


def order(card):
    """Return a sort key: by rank, then clubs, diamonds, spades, hearts."""
    return RANKS.index(card[0]) * 4 + SUITS.index(card[1])


def choose(view):
    """Return the name of a legal action, from view["legal"]."""
    legal = view["legal"]
    if view["phase"] == "moon":
        return "moon:others"
    if view["phase"] == "pass":
        return max(legal, key=order)
    trick = view["trick"]
    if trick:
        led = trick[0][1][1]
        winning = next(card for seat, card in trick if seat == view["winner"])
        below = [card for card in legal if card[1] == led == winning[1]]
        below = [card for card in below if order(card) < order(winning)]
        if below:
            return max(below, key=order)
        if all(card[1] != led for card in legal):
            return max(legal, key=order)
    return min(legal, key=order)


def main():
    """Answer every message that needs an answer."""
    for line in sys.stdin:
        message = json.loads(line)
        kind = message["type"]
        if kind == "hello":
            answer = {"type": "ready", "protocol": 1, "name": "low", "batch": True}
        elif kind == "act":
            answer = {"type": "action", "action": choose(message["view"])}
        elif kind == "acts":
            answer = {"type": "actions", "actions": [choose(view) for view in message["views"]]}
        elif kind == "bye":
            return
        else:  # game, which this bot ignores
            continue
        print(json.dumps(answer), flush=True)


main()
