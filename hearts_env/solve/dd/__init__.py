"""The double-dummy solver's inside; ``hearts_env.solve.double_dummy`` is its public face.

- ``position``: positions between two tricks, the rules of play there, the layout of all memory.
- ``memory``: what is known of a position without a search: bounds and both tables.
- ``search``: alpha-beta over positions, and the values of the kernel's states.
"""
