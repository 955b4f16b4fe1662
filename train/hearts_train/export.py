"""Stands in ``hearts_train.learn.export`` now; this name works until 0.3."""

from hearts_train.learn.export import export_policy

__all__ = ["export_policy"]
