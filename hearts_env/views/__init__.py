"""The view of one player, and the hidden cards that agree with it.

Every agent receives a ``view``. ``worlds`` counts, lists and samples the possible hidden cards, and
``hidden`` is its compiled part. ``position`` has the fields that games and views share, ``picture``
decides what a drawing shows, and ``deals`` counts deals.
"""
