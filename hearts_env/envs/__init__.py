"""What the environments share: spaces, infos, rewards, resets, drawing, the parallel form.

``hearts_env.hearts_v0`` is the environment itself. Only environments import this room.
"""
