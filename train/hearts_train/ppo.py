"""Stands in ``hearts_train.learn.ppo`` now; this name works until 0.3."""

from hearts_train.learn.ppo import Trainer, train

__all__ = ["Trainer", "train"]
