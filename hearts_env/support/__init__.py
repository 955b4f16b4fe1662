"""What every room may use and no game is in: arrays, arguments, errors, files, progress, signals.

``arguments`` checks what users give, ``errors`` words it, ``files`` writes whole files;
``jit``, ``bits`` and ``workers`` matter to compiled code only. Nothing here imports another room.
"""
