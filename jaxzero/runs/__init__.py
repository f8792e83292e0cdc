"""Populations of runs: trained, saved, and opened again from their run directories."""

from jaxzero.runs.opened import (
    CHECKPOINTS,
    SNAPSHOTS,
    Member,
    Run,
    channels_after,
    channels_playing,
    choose,
    kept_iteration,
    member_network,
    networks,
    one_for_each_seed,
    open_run,
    saved_iteration,
    write_members,
)
from jaxzero.runs.players import network_players, player_of
from jaxzero.training.learner import without_optimiser

__all__ = [
    "CHECKPOINTS",
    "SNAPSHOTS",
    "Member",
    "Run",
    "channels_after",
    "channels_playing",
    "choose",
    "kept_iteration",
    "member_network",
    "network_players",
    "networks",
    "one_for_each_seed",
    "open_run",
    "player_of",
    "saved_iteration",
    "without_optimiser",
    "write_members",
]
