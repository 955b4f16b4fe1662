"""Deals and matches without reinforcement learning: play, undo, scores, chips and text.

``game`` plays a deal and ``match`` a whole match. ``chips`` settles deals in chips. ``grammar`` and
``notation`` read and write hand histories. ``state`` writes the perfect-information array for
centralised critics.
"""
