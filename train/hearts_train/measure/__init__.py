"""Measuring players, without torch. A file imports only those on the lines before it.

- ``participants`` (who plays), ``executor`` (where), ``intervals``, ``protocol`` (of HeartsBench)
- ``display`` (tables, pictures), ``duel`` (blocks of deals and matches), ``sequential``, ``warmup``
- ``summary`` (figures of two players), ``folder`` (of a tournament that grows), ``analysis``
- ``contest`` (plays, saves and resumes everything), ``standings`` (the figures of a folder)
- what users call: ``evaluation, comparison, tournament, benchmark, exploit, equity``
"""
