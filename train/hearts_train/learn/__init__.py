"""Learning: configs, networks, algorithms, run folders. It needs the extra ``train``."""
