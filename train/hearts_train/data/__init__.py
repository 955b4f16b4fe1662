"""Record datasets of play, for offline learning and language models, without torch."""
