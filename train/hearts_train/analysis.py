"""Stands in ``hearts_train.measure.analysis`` now; this name works until 0.3."""

from hearts_train.measure.analysis import Analysis, analyse

__all__ = ["Analysis", "analyse"]
