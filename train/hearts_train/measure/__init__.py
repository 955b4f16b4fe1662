"""Measure agents, without torch. A file imports only files in earlier lines.

- ``settings`` (keywords that functions share), ``participants`` (who plays), ``statistics``,
  ``duel`` (blocks of deals and matches)
- ``display`` (tables, pictures), ``contest`` (plays, saves and resumes everything)
- ``analysis``, and the functions of users: ``evaluation``, then ``comparison, tournament,
  benchmark, exploit``
"""
