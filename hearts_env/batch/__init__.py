"""Thousands of games in arrays: ``BatchGame``, its compiled loops, and views of many games at once.

Players that answer many views at once take a ``BatchView``.
"""
