"""Who sits at the board when the page is opened, and the page served until it is interrupted."""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from jaxzero import pretrained, runs
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.records import Record
from jaxzero.play.web.catalogue import MCTS, Catalogue, offer_name
from jaxzero.play.web.server import HOST, Site, bind
from jaxzero.players import rollouts_of
from jaxzero.runs import Run
from jaxzero.settings.config import ConfigError

_SHOWN = "connect_four_6x7"  # where nothing is asked for


class Choice(NamedTuple):
    """How the page begins."""

    game: str
    opponent: str  # a player's name, see `catalogue`
    simulations: int  # of the opponent's searches
    recorded: Record | None  # a game that is looked at, without an opponent


def choose(
    run: Run | None,
    *,
    member: str | None = None,
    at: int | None = None,
    simulations: int | None = None,
    game: str | None = None,
    opponent: str | None = None,
    recorded: Record | None = None,
) -> tuple[Catalogue, Choice]:
    """What the page offers, and how it begins.

    Args:
      run: whose network is the opponent; without one, of `member`, after iteration `at`.
      member, at: the first and the newest by default.
      simulations: of its searches; as in training by default.
      game: of an opponent without a run.
      opponent: `random`, `greedy`, `mcts_N`; a network that ships where there is one by default.
      recorded: a game to look at.

    Raises:
      ConfigError: there is no such member, iteration or opponent; or something is given that
        the others leave no use for.
    """
    if recorded is not None:
        game = recorded.session.game.name
    if run is None and game is None:
        run = runs.open_run(f"{pretrained.PREFIX}{_SHOWN}")
    _refuse_unused(run, member, at, simulations, game, opponent)
    number = 0 if run is None else runs.choose(run, member)
    catalogue = Catalogue(run, number, game)
    name = game if run is None else run.spec.game.name
    assert name is not None  # one of them is given
    offers, m = catalogue.offers(name), simulations
    if opponent is not None:
        m = rollouts_of(opponent)
        wanted = MCTS if m else opponent
    elif run is not None:
        wanted = offer_name(run, number, runs.kept_iteration(run, at))
    else:
        wanted = offers[0].name
    if m is None:
        m = next((offer.simulations for offer in offers if offer.name == wanted), 0)
    catalogue.player(catalogue.game(name), wanted, m)  # refuses what is not there
    return catalogue, Choice(name, wanted, m, recorded)


def _refuse_unused(
    run: Run | None,
    member: str | None,
    at: int | None,
    simulations: int | None,
    game: str | None,
    opponent: str | None,
) -> None:
    """ConfigError: what `choose` was given does not go together."""
    if run is not None and game not in (None, run.spec.game.name):
        place = pretrained.named(run.directory)
        raise ConfigError(f"game={game}: {place} plays {run.spec.game.name}, leave one of them out")
    for name, value, is_used in (
        ("member", member, run is not None),  # of its networks all are offered
        ("at", at, run is not None and opponent is None),
        ("simulations", simulations, opponent is None),
    ):
        if value is not None and not is_used:
            raise ConfigError(f"{name}={value} belongs to a network: give a run, and no opponent")


def make_site(catalogue: Catalogue, choice: Choice, *, side: int, seed: int) -> Site:
    """The page as it begins; `side`: the person's, 0 or 1."""
    opponent = {"name": choice.opponent, "simulations": choice.simulations}
    seats: list[dict[str, object]] = [{"name": "you"}, {"name": "you"}, opponent]
    start = {"game": choice.game, "moves": [], "seats": seats, "seed": seed}
    if choice.recorded is None:
        seats[1 - side] = opponent
    else:
        played = choice.recorded.session
        names = make_notation(played.game).names
        start["moves"] = [names[action] for action in played.actions]
        start["opened"] = {"players": choice.recorded.players, "opening": played.opening}
    return Site(catalogue, start)


def warm_up(site: Site, choice: Choice, seed: int) -> None:
    """Compiles the opponent's search."""
    first = {"game": choice.game, "moves": [], "player": choice.opponent, "seed": seed}
    site.answers.position(first)
    site.answers.analysis(first | {"simulations": choice.simulations})


def serve(site: Site, choice: Choice, *, seed: int, port: int, say: Callable[..., None]) -> None:
    """Compiles, says where the page is (port 0: a free one), and answers until it is interrupted.

    ConfigError: the port can't be had.
    """
    server = bind(site, port)
    with contextlib.closing(server.socket):
        say(f"compiling {choice.game} and {choice.opponent}...")
        warm_up(site, choice, seed)
        say(f"play at http://{HOST}:{server.port}/ (this machine only; Ctrl-C ends it)")
        server.serve_forever()  # returns when interrupted
        say("", "stopped")
