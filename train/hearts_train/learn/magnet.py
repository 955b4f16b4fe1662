"""The magnet of a recipe: the policy that learning is pulled towards (``ppo.magnet_coef``)."""

from __future__ import annotations

import torch
from torch import nn

from hearts_agents.base import PerGameAgent
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.spec import make_agent
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import HeartsError
from hearts_train.learn.actor_critic import ActorCritic, perceptron
from hearts_train.learn.algorithms import OF_VALUES
from hearts_train.learn.config import AVERAGE, ConfigError, TrainConfig


def find_magnet(
    config: TrainConfig, rules: Rules, encoder: Encoder, average: ActorCritic | None
) -> nn.Module | None:
    """What gives the magnet's logits of observations, on the processor; None: there is none.

    Args:
        config: the recipe.
        rules: its game.
        encoder: what the learner sees.
        average: the network that is the average of the learner's weights, if it has one.

    Raises:
        ConfigError: the magnet is a player whose logits cannot be had from what the learner sees.
    """
    if config.ppo.magnet != AVERAGE:
        return _layers_of(_trained_player(config.ppo.magnet, rules, encoder).network)
    return None if average is None else nn.Sequential(average.trunk, average.policy)


def _trained_player(name: str, rules: Rules, encoder: Encoder) -> NetworkAgent:
    try:
        agent = make_agent(name, seed=0)
        agent = agent.player_of(rules) if isinstance(agent, PerGameAgent) else agent
        if isinstance(agent, NetworkAgent):
            agent.check_rules(rules)
    except HeartsError as error:
        raise ConfigError(f"ppo.magnet: {error}") from None
    if not isinstance(agent, NetworkAgent):
        raise ConfigError(
            f"ppo.magnet: {name!r} is not a trained network; give average, champion, or a run's "
            "folder or checkpoint",
            value=name,
        )
    recipe = agent.checkpoint.training.get("config") if agent.checkpoint else None
    algorithm = recipe.get("algorithm") if isinstance(recipe, dict) else None
    if algorithm in OF_VALUES:
        raise ConfigError(
            f"ppo.magnet: {name!r} has learnt by {algorithm} what actions are worth, and no policy "
            "to be pulled towards; take a player of ppo or nfsp",
            value=name,
        )
    if agent.encoder != encoder:
        raise ConfigError(
            f"ppo.magnet: {name!r} does not see what the learner sees; set env.observation to the "
            "encoder that it was trained with, or take another magnet",
            value=name,
        )
    return agent


def _layers_of(network: Network) -> nn.Sequential:
    found = perceptron(network.sizes, network.activation)
    linear = (layer for layer in found if isinstance(layer, nn.Linear))
    with torch.no_grad():
        for layer, (weight, bias) in zip(linear, network.layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
    return found
