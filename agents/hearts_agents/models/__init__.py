"""Trained networks and solved policies as players, and their files.

``network`` plays this package's own weights without torch. ``checkpoint`` reads and writes them.
``layers`` saves linear layers of any library in such a file. ``libraries`` loads models of
stable-baselines3, TorchScript, ONNX and torch.
"""
