"""The rules of a game: the fields of ``Rules``, its presets, and the explanation in words.

``rules`` has the fields, their meaning and every check; ``values`` reads and writes values;
``presets`` lists the games of the rule book; ``explain`` words them. ``kernel`` decides the play.
"""
