"""The rooms of the double-dummy solver; ``hearts_env.solve.double_dummy`` is its public face.

- ``layout``: the vector `mem` that the caller owns, and what stands where in it.
- ``position``: positions between two tricks, and the rules of play there.
- ``bounds``: what is known of a position without looking further.
- ``endgames``: the table with the exact values of all positions of a few cards.
- ``table``: the transposition table.
- ``search``: alpha-beta over positions.
- ``states``: values of the kernel's states.
- ``memory``: the vector for given rules.
"""
