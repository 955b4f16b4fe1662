"""Shared tools without any knowledge of the game: arrays, arguments, errors, files and progress.

``arguments`` checks users' values, ``errors`` words the messages, and ``files`` writes whole
files. ``jit``, ``bits`` and ``workers`` serve compiled code. Nothing here imports another package
of ``hearts_env``.
"""
