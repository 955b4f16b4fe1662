"""Stands in ``hearts_train.learn.training`` now; this name works until 0.3."""

from hearts_train.learn.training import Trainer, train

__all__ = ["Trainer", "train"]
