"""Thousands of games in arrays: ``BatchGame``, its compiled loops, and views of many games at once.

``cuda`` is experimental. Players that answer many views at once take a ``BatchView``.
"""
