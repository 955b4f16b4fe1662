"""Players that are trained networks or solved tables, and their files.

``network`` plays this package's own weights without torch, ``checkpoint`` reads and writes them;
the others load models of stable-baselines3, TorchScript, ONNX and torch.
"""
