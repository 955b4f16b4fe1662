"""What the options of the rules can be, in the order of the rule book's table.

Words only, which need nothing compiled; ``kernel`` has a number for each, its place here.
"""

from __future__ import annotations

FIRST_LEADS = ("lowest_club", "any_club", "eldest_hand")
BREAKS = ("heart", "void", None)
UNBROKEN_LEADS = ("only_hearts", "spades_or_hearts", "queen_frees_hearts")
MOONS = ("others_plus", "self_minus", "choose", "none")
KITTIES = ("nobody", "first_trick", "last_trick", "first_heart", "first_penalty")
SETTLEMENTS = ("points", "simple", "sweepstakes", "howell")
DIRECTIONS = ("left", "right", "across", "hold")
MAX_ROTATION = 16
"""Directions of the exchange, at most."""
