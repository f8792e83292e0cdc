"""The networks of run directories as players of a match."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ml_collections import ConfigDict

from experiments.strength.opponents import Entry
from jaxzero import pretrained, runs, workdir
from jaxzero.players import Players
from jaxzero.runs import Run, network_players, population
from jaxzero.runs.failures import FAILED, Failures
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError, nearest
from jaxzero.training.learner import Learner


class Contestant(NamedTuple):
    """One network: a member, by number, of a run after an iteration, with m simulations a move.

    `shared`: it stands for all members of its seed, who start from the same weights.
    """

    run: Run
    label: str
    member: int
    iteration: int
    simulations: int
    shared: bool = False

    @property
    def entry(self) -> Entry:
        """Its line in a tournament."""
        who = self.run.members[self.member]
        name = f"untrained_seed{who.seed}" if self.shared else f"{who.name}@{self.iteration}"
        return Entry(
            name=f"{self.label}/{name}",
            kind="trained" if self.iteration else "untrained",
            target=None if self.shared else who.target,
            seed=who.seed,
            run=self.label,
            iteration=self.iteration,
            simulations=self.simulations,
        )


def label_runs(directories: Sequence[Path]) -> list[str]:
    """A short name for each run directory: its own name, or its path where two are called alike.

    A directory that is given again is another player: `quick`, `quick#2`.
    """
    places = [directory.resolve() for directory in directories]
    names = {}
    for place, directory in zip(places, directories, strict=True):
        alike = {other for other in places if other.name == place.name}
        names[place] = place.name if len(alike) == 1 else str(directory)
    seen: dict[Path, int] = {}
    labels = []
    for place in places:
        seen[place] = seen.get(place, 0) + 1
        labels.append(names[place] + (f"#{seen[place]}" if seen[place] > 1 else ""))
    return labels


def same_board(opened: Sequence[Run]) -> None:
    """Refuses runs of several boards (ConfigError)."""
    first = opened[0]
    for run in opened[1:]:
        if run.spec.game.name != first.spec.game.name:
            raise ConfigError(
                f"{first.directory} plays {first.spec.game.name} and {run.directory} plays "
                f"{run.spec.game.name}: runs of one board only can meet"
            )


def finite_members(run: Run) -> list[int]:
    """The members of a run, by number, that did not fail. ConfigError: all have."""
    failed = failed_in(run)
    finite = [i for i, m in enumerate(run.members) if m.name not in failed]
    if not finite:
        raise ConfigError(f"{run.directory}: every run has failed, see {FAILED}")
    return finite


def failed_in(run: Run) -> list[str]:
    """The names of a run's members that failed."""
    reasons = Failures(run.directory).reasons
    return [m.name for m in run.members if m.name in reasons]


def say_who_failed(opened: Sequence[Run]) -> None:
    """Names the members that are left out for it, a line for each run directory."""
    for directory, run in {run.directory: run for run in opened}.items():
        if names := failed_in(run):
            say(f"{directory}: left out, failed: {', '.join(names)}")


def choose_members(run: Run, names: Sequence[str]) -> list[int]:
    """The members of a run that did not fail and are among `names`; all without names."""
    return [i for i in finite_members(run) if not names or run.members[i].name in names]


def check_members(opened: Sequence[Run], names: Sequence[str]) -> None:
    """Refuses names that no run has; names the nearest that there is (ConfigError)."""
    known = dict.fromkeys(run.members[i].name for run in opened for i in finite_members(run))
    failed = [name for run in opened for name in failed_in(run)]
    for name in names:
        if name not in known:
            why = f"it failed, see {FAILED}" if name in failed else nearest(name, known)
            raise ConfigError(f"--members={name!r}: {why}")


def simulations_of(run: Run, member: int, asked: int | None) -> int:
    """m of a member: as asked, or its own run's. ConfigError: too few for this run's program."""
    if asked is None:
        return int(run.members[member].config.search.num_simulations)
    if run.spec.search.root_expansion_counts and asked < 2:
        raise ConfigError(
            f"--simulations={asked}: the first simulation of {run.directory} only expands the "
            "root, choose at least 2"
        )
    return asked


def field_run(
    run: Run, label: str, *, iterations: Sequence[int], members: Sequence[int], asked: int | None
) -> list[Contestant]:
    """Contestants of one run, by iteration; before training, one for each seed.

    `iterations`: kept ones; `members`: numbers; `asked`: m for all, None for each its own.
    """
    same = twins(run, members, asked)
    first = sorted(set(same.values()))
    one_a_seed = len({run.members[i].seed for i in first}) == len(first)
    contestants = []
    for at in iterations:
        contestants += [
            Contestant(
                run, label, i, at, simulations_of(run, i, asked), shared=at == 0 and one_a_seed
            )
            for i in (first if at == 0 and one_a_seed else members)
        ]
    return contestants


def networks_of(run: Run, members: Sequence[int], at: int) -> Learner:
    """The best networks of some members, by number, after an iteration, [len(members)]."""
    networks = runs.networks(run, at)
    if len(members) == len(run.members):
        return networks
    return population.member(networks, np.array(members))


def refuse_shipped(opened: Sequence[Run]) -> None:
    """Refuses players that ship, into whose folder a run's results would go (ConfigError)."""
    for run in opened:
        name = pretrained.named(run.directory)
        if name.startswith(pretrained.PREFIX):
            raise ConfigError(
                f"{name} ships, and results go into a run's directory: copy it, cp -r "
                f"{run.directory} runs/{run.directory.name}, and name that"
            )


def label_members(run: Run) -> dict[str, str]:
    """By member's name what it minimised; where others of its seed did too, its own settings.

    So runs of one group differ in their seed alone, in directories of settings, too.
    """
    twice = len({(m.target, m.seed) for m in run.members}) < len(run.members)
    return {
        m.name: m.name.removesuffix(f"_seed{m.seed}") if twice else m.target for m in run.members
    }


def players_of(run: Run, members: Sequence[int], at: int, asked: int | None) -> Players:
    """Members of a run, by number, after an iteration, with m of their own or as asked."""
    return network_players(
        run.spec,
        networks_of(run, members, at),
        [simulations_of(run, i, asked) for i in members],
        [run.members[i].config.search.c_puct for i in members],
        tree_moves=run.config.search.tree_moves,
    )


def twins(run: Run, members: Sequence[int], asked: int | None) -> dict[int, int]:
    """For each member the first one that is the same player before training: seed, m and c."""
    first: dict[Any, int] = {}
    same = {}
    for i in members:
        who = run.members[i]
        key = (who.seed, simulations_of(run, i, asked), who.config.search.c_puct)
        same[i] = first.setdefault(key, i)
    return same


def build(contestants: Sequence[Contestant]) -> tuple[list[Entry], list[Players]]:
    """Entries and players by kind, in one order: runs whose searches share a program are one."""
    groups: dict[Any, list[Contestant]] = {}
    for contestant in contestants:
        groups.setdefault(_program(contestant), []).append(contestant)
    loaded: dict[Any, Learner] = {}
    entries: list[Entry] = []
    kinds = []
    for group in groups.values():
        for one in group:
            key = (one.run.directory, one.iteration)
            if key not in loaded:
                loaded[key] = runs.networks(one.run, one.iteration)
        picked = [
            population.member(loaded[one.run.directory, one.iteration], one.member) for one in group
        ]
        entries += [one.entry for one in group]
        kinds.append(
            network_players(
                group[0].run.spec,
                population.stack(picked),
                [one.simulations for one in group],
                [_config(one).search.c_puct for one in group],
                tree_moves=_config(group[0]).search.tree_moves,
            )
        )
    return entries, kinds


def _config(contestant: Contestant) -> ConfigDict:
    return contestant.run.members[contestant.member].config


def _program(contestant: Contestant) -> Any:
    """What must be equal for networks to be players of one kind."""
    spec = contestant.run.spec
    capacity_matters = spec.switches.keep_tree or spec.search.fixes_simulations
    return (
        spec.game,
        spec.network,
        dataclasses.replace(spec.arena_search, capacity=2),
        spec.switches.keep_tree,
        contestant.simulations if capacity_matters else None,
        _config(contestant).search.tree_moves if spec.switches.keep_tree else None,
    )


def choose_iterations(run: Run, which: str) -> list[int]:
    """What `last`, `all` or `0,10,20` mean. ConfigError: no such word, or a network not kept."""
    if which == "last":
        return [run.iterations[-1]]
    if which == "all":
        return list(run.iterations)
    try:
        chosen = [int(word) for word in which.split(",")]
    except ValueError:
        raise ConfigError(
            f"--iterations={which!r}: give last, all, or numbers like 0,10,20"
        ) from None
    for iteration in chosen:
        if iteration not in run.iterations:
            kept = ", ".join(map(str, run.iterations))
            raise ConfigError(
                f"--iterations={which}: {run.directory} keeps no networks of iteration "
                f"{iteration}, choose one of {kept}"
            )
    return sorted(set(chosen))


def refuse_run(directory: Path) -> None:
    """Refuses to write results where a run was trained (ConfigError)."""
    if (directory / workdir.MEMBERS).exists():
        raise ConfigError(f"--workdir={directory} holds a run of its own: choose another directory")
