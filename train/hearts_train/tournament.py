"""Stands in ``hearts_train.measure.tournament`` now; this name works until 0.3."""

from hearts_train.measure.tournament import Tournament, tournament

__all__ = ["Tournament", "tournament"]
