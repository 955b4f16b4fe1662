"""Learning: configs, networks, algorithms, run folders; needs the extra ``train``."""
