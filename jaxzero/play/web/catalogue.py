"""The games and players that a page offers, by the names that it sends."""

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxzero import pretrained, runs
from jaxzero.games import GAME_EXAMPLES, PGX_EXAMPLES, RACING_KINGS_EXAMPLES, Game, make_game
from jaxzero.play import board_players
from jaxzero.play.board_players import BoardPlayer
from jaxzero.play.display.drawing import title_of
from jaxzero.runs import Run
from jaxzero.settings.config import ConfigError
from jaxzero.training.learner import Learner

MOST, MANY_ACTIONS, MOST_OF_MANY = 1600, 1000, 400  # simulations; a tree has room for the most
MCTS, GREEDY, RANDOM = "mcts", "greedy", "random"
_ROLLOUTS = 200


class Offer(NamedTuple):
    """A player of some game."""

    # as the page sends it, e.g. `"pretrained:othello_6x6"`, `"run:sum_seed0@15"`, `"mcts"`.
    name: str
    label: str  # as people read it
    simulations: int  # of its search by default; 0 of one who does not search
    least: int  # simulations that its search needs
    # (game, simulations, the most that are offered) -> the player
    make: Callable[[Game, int, int], BoardPlayer]


_PLAIN = (
    Offer(MCTS, "Plain MCTS", _ROLLOUTS, 1, lambda g, m, n: _plain(f"mcts_{m}", g, n)),
    Offer(GREEDY, "Greedy, one move ahead", 0, 0, lambda game, m, n: _plain(GREEDY, game, n)),
    Offer(RANDOM, "Random moves", 0, 0, lambda game, m, n: _plain(RANDOM, game, n)),
)


class Catalogue:
    """What there is to choose from; nothing else can be asked for. `games`: names."""

    def __init__(self, run: Run | None = None, member: int = 0, game: str | None = None) -> None:
        """Offers what ships, and of a run each member's newest network and all of one `member`.

        `game`: one more board.
        """
        self._networks: dict[str, list[Offer]] = {}
        if run is not None:
            others = [i for i in range(len(run.members)) if i != member]
            for i in (member, *others):
                self._add(run, i, run.iterations[-1])
            for at in reversed(run.iterations[:-1]):
                self._add(run, member, at)
        for name in pretrained.names():
            ships = runs.open_run(f"{pretrained.PREFIX}{name}")
            if run is None or ships.directory != run.directory:
                self._add(ships, 0, ships.iterations[-1])
        names = [*self._networks, game, *GAME_EXAMPLES, RACING_KINGS_EXAMPLES[0]]
        if importlib.util.find_spec("pgx"):
            names += PGX_EXAMPLES
        self.games = tuple(dict.fromkeys(filter(None, names)))
        self.player = functools.lru_cache(maxsize=64)(self._player)

    def _add(self, run: Run, member: int, at: int) -> None:
        self._networks.setdefault(run.spec.game.name, []).append(_network(run, member, at))

    def game(self, name: str) -> Game:
        """The rules. ConfigError: it is not offered, or needs a package that is not installed."""
        if name not in self.games:
            raise ConfigError(f"the page was started without {name}: add --game={name}")
        try:
            return make_game(name)
        except (ValueError, ImportError) as error:
            raise ConfigError(str(error)) from error

    def offers(self, game: str) -> list[Offer]:
        """Who plays it, networks first."""
        return [*self._networks.get(game, []), *_PLAIN]

    def _player(self, game: Game, name: str, simulations: int) -> BoardPlayer:
        """A player who was offered. ConfigError: there is none, or not with `simulations`."""
        found = [offer for offer in self.offers(game.name) if offer.name == name]
        if not found:
            raise ConfigError(f"{name!r} does not play {game.name} here")
        [offer], most = found, most_simulations(game)
        if offer.simulations and not offer.least <= simulations <= most:
            raise ConfigError(f"simulations={simulations}: choose from {offer.least} to {most}")
        return offer.make(game, simulations, most)

    def describe(self) -> list[dict[str, Any]]:
        """Games with their players, for the page."""
        return [
            {
                "name": game,
                "title": title_of(game),
                "players": [
                    {"name": o.name, "label": o.label, "simulations": o.simulations}
                    for o in self.offers(game)
                ],
            }
            for game in self.games
        ]


def most_simulations(game: Game) -> int:
    """Of one search."""
    return MOST if game.num_actions <= MANY_ACTIONS else MOST_OF_MANY


def offer_name(run: Run, member: int, at: int) -> str:
    """The name under which a network of a run is offered."""
    if _ships(run, at):
        return pretrained.named(run.directory)
    return f"run:{run.members[member].name}@{at}"


def _ships(run: Run, at: int) -> bool:
    place = pretrained.named(run.directory)
    return place.startswith(pretrained.PREFIX) and at == run.iterations[-1]


def _network(run: Run, member: int, at: int) -> Offer:
    who = run.members[member]

    @functools.cache
    def network() -> Learner:
        return runs.member_network(run, member, at)

    def make(game: Game, simulations: int, most: int) -> BoardPlayer:
        return board_players.of_network(run, member, network(), at, simulations, most=most)

    return Offer(
        offer_name(run, member, at),
        f"Network {run.directory.name}" if _ships(run, at) else f"{who.name}, iteration {at}",
        who.config.search.num_simulations,
        board_players.least_simulations(run),
        make,
    )


def _plain(name: str, game: Game, most: int) -> BoardPlayer:
    return board_players.plain(name, game, most=most)
