"""Stands in ``hearts_train.learn.training`` now; this name works until 0.3."""

from hearts_train.learn.training import RunResult, Trainer, make_learner, train

__all__ = ["RunResult", "Trainer", "make_learner", "train"]
