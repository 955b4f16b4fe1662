"""Training, measuring and playing, and commands for it: ``command -> web -> learn -> measure``."""

import os

# Read by torch's OpenMP when it is loaded, so set before anything here can import torch. Its
# threads otherwise wait by spinning, which on cores that others use as well was seen to make
# training ten times slower (1.8 k decisions/s against 28 k: two threads, two busy cores).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
