"""Play recorded as datasets, for offline learning and for language models; no torch."""
