"""Behaviour cloning from a Minari dataset: a network learns to play like `pro`.

`pip install . -r examples/requirements/minari_cloning.txt`; `python examples/minari_cloning.py`.
"""

import tempfile

import minari
import numpy as np
import torch
from _report import Report
from torch import nn

from hearts_train.data.folder import make_dataset
from hearts_train.data.options import DatasetOptions

report = Report(__doc__, "minari", "h5py", "pyarrow", "torch")
torch.manual_seed(1)
games = report.choose(full=20_000, smoke=1_500)
options = DatasetOptions(["pro"], "two_player", games=games, formats=["minari"])
with tempfile.TemporaryDirectory() as folder:
    made = make_dataset(f"{folder}/pro-games", options)
    dataset = minari.MinariDataset(made.episodes)
    episodes = list(dataset)  # the last observation of each has no decision
    observations = torch.from_numpy(np.concatenate([e.observations[:-1] for e in episodes])).float()
    actions = torch.from_numpy(np.concatenate([e.actions for e in episodes]))
    masks = torch.from_numpy(np.concatenate([e.infos["action_mask"][:-1] for e in episodes]))
    env = dataset.recover_environment(opponent="easy")

size, number = observations.shape[1], int(dataset.action_space.n)
net = nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
net.append(nn.Linear(256, number))


def worths(seen):
    """Return a score per action. The legal action with the highest score is played."""
    return net(torch.from_numpy(seen).float()).detach().numpy()


report.measure(worths)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(report.choose(full=20, smoke=8)):
    for batch in torch.randperm(len(actions)).split(512):
        logits = net(observations[batch]).masked_fill(masks[batch] == 0, -torch.inf)
        loss = nn.functional.cross_entropy(logits, actions[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report.decided(len(batch))

for seed in range(report.choose(full=1_000, smoke=100)):  # play in the recorded environment
    (seen, info), over = env.reset(seed=seed), False
    while not over:
        best = np.where(info["action_mask"] == 1, worths(seen[None])[0], -np.inf)
        seen, reward, over, _, info = env.step(best.argmax())
    report.played(info["seat"], reward, offender=info["offender"])
report.measure(worths)
report.finish()
