"""Datasets of recorded play, for offline learning and language models; no torch."""
