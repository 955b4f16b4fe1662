"""Behaviour cloning from a Minari dataset: a network learns to play like `pro`.

The decisions are those of the teacher. Every choice in the dataset is learned from several times.

    pip install . -r examples/requirements/minari_cloning.txt
    python examples/minari_cloning.py
"""

import tempfile

import minari
import numpy as np
import torch
from _report import Learning
from torch import nn

from hearts_env import Rules
from hearts_train.data.folder import make_dataset
from hearts_train.data.options import DatasetOptions

SETTINGS = {"teacher": "pro", "hidden": [256, 128], "learning_rate": 1e-3, "epochs": 20}
libraries = ("minari", "h5py", "pyarrow", "torch")
report = Learning(
    __doc__, *libraries, opponents="none: it imitates pro", greedy=True, settings=SETTINGS, tried=2
)
torch.manual_seed(report.seed)
with tempfile.TemporaryDirectory() as folder:
    games = report.options.decisions // Rules.make(report.rules).hand_size  # more than needed
    options = {"games": games, "seed": report.seed, "formats": ["minari"]}
    made = make_dataset(f"{folder}/games", DatasetOptions(["pro"], report.rules, **options))
    dataset = minari.MinariDataset(made.episodes)
    episodes = list(dataset)  # the last observation of each has no decision
    observations = torch.from_numpy(np.concatenate([e.observations[:-1] for e in episodes])).float()
    actions = torch.from_numpy(np.concatenate([e.actions for e in episodes]))
    masks = torch.from_numpy(np.concatenate([e.infos["action_mask"][:-1] for e in episodes]))
    env = dataset.recover_environment(opponent="easy")
choices = torch.nonzero(masks.sum(1) > 1)[: report.options.decisions, 0]
observations, actions, masks = (part[choices] for part in (observations, actions, masks))

size, number = observations.shape[1], int(dataset.action_space.n)


def learn(rows):
    """Return a new network that has learned from the first `rows` choices of the dataset."""
    net = nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
    net.append(nn.Linear(128, number))
    optimizer = torch.optim.Adam(net.parameters(), lr=SETTINGS["learning_rate"])
    for _ in range(SETTINGS["epochs"]):
        for batch in torch.randperm(rows).split(256):
            logits = net(observations[batch]).masked_fill(masks[batch] == 0, -torch.inf)
            loss = nn.functional.cross_entropy(logits, actions[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net


for part in observations.split(len(observations) // 5):  # the points of the learning curve
    before = report.decisions
    report.decided(masks[before : before + len(part)])
    net = learn(report.decisions)
    report.learned(lambda net=net: net)

for seed in range(200):  # play in the recorded environment
    (seen, info), over = env.reset(seed=seed), False
    while not over:
        scores = net(torch.from_numpy(seen[None]).float()).detach().numpy()[0]
        card = np.where(info["action_mask"] == 1, scores, -np.inf).argmax()
        seen, reward, over, _, info = env.step(card)
    report.played(info["seat"], reward, offender=info["offender"])
report.finish()
