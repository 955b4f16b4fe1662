"""Stands in ``hearts_train.measure.evaluation`` now; this name works until 0.3."""

from hearts_train.measure.evaluation import Contest, Evaluation, evaluate

__all__ = ["Contest", "Evaluation", "evaluate"]
