"""One deal and one match, without reinforcement learning: play, undo, scores, chips, text.

``game`` plays a deal, ``match`` deals until the end score; ``chips`` settles;
``grammar`` and ``notation`` read and write hand histories; ``state`` is the array of all that is
hidden and known, for centralised critics.
"""
