"""Gymnasium and stable-baselines3 environments with opponents inside, single and vectorised."""
