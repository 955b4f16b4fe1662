"""Learning: configs, networks, algorithms and run folders. Needs the extra ``train``."""
