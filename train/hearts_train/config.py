"""Stands in ``hearts_train.learn.config`` and ``recipes`` now; this name works until 0.3."""

from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.recipes import load_config

__all__ = ["ConfigError", "TrainConfig", "load_config"]
