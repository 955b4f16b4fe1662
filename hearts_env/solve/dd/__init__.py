"""The internals of the double-dummy solver. ``hearts_env.solve.double_dummy`` is the public module.

- ``position``: positions between two tricks, their rules of play and the memory layout.
- ``memory``: the two tables, and bounds that need no search.
- ``search``: alpha-beta over positions, and the values of the kernel's states.
"""
