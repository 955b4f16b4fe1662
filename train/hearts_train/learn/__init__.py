"""Learning: configs, networks, self-play PPO, the folder of a run; needs the extra ``train``."""
