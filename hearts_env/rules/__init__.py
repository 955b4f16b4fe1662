"""The rules of a game: the fields of ``Rules``, the presets, and the explanation in words.

``rules`` has the fields, their meaning and every check. ``values`` reads values. ``presets`` lists
the games of the rule book, and ``explain`` puts them into words. ``kernel`` decides the play.
"""
