"""A language agent over the `text` observation: it reads the game as text and answers in text.

Replace `answer`, which follows rules of thumb, by a language model.

    pip install . -r examples/requirements/text_agent.txt
    python examples/text_agent.py
"""

import re

import gymnasium
from _report import Report

from hearts_env.encoders import make_encoder
from hearts_train import evaluate

report = Report(__doc__, "gymnasium")
env = gymnasium.make("hearts_env:hearts_env/Hearts-v0", observation="text", opponent="easy")
deck, decode = env.unwrapped.rules.deck, make_encoder("text").decode


def legal_cards(text):
    """Return the legal cards in the text, low ones first."""
    return sorted(text.partition("Legal: ")[2].split(), key=lambda card: "2468TQA".index(card[0]))


def answer(text):
    """Lead low. Otherwise play the highest card that loses the trick, preferably QS."""
    cards, led = legal_cards(text), re.search(r"Trick \d+: player \d (\w)(\w)$", text, re.MULTILINE)
    others = [card for card in cards if card != "QS"] or cards
    if led is None:
        return f"I lead {others[0]}."
    low = "2468TQA".partition(led[1])[0]
    lost = [card for card in cards if (card[0] in low if card[1] == led[2] else card[1] != "H")]
    return f"I play {'QS' if 'QS' in lost else (lost or others)[-1]}."


def action_of(told):
    """Return the number of the card in an answer."""
    return deck.index(re.search(r"\b[2-9TJQKA][CDSH]\b", told)[0])


class Speaker:
    """Plays from a view, through its text."""

    def __init__(self, speak):
        self.act = lambda view: action_of(speak(view.to_text()))


for deal in range(report.choose(full=5_000, smoke=300)):
    (observation, info), terminated = env.reset(seed=deal), False
    while not terminated:
        card = action_of(answer(decode(observation)))
        report.decided(info["action_mask"])
        observation, reward, terminated, _, info = env.step(card)
    report.played(info["seat"], reward, offender=info["offender"])
played = evaluate(Speaker(answer), "easy", deals=report.choose(full=5_000, smoke=500))
print(f"margin over easy {played.margin:+.2f} points per deal")
report.finish()
