"""A person against a player, or two players against each other, in the terminal.

python -m jaxzero.play --player=connect_four_6x7               # you against a player that ships
python -m jaxzero.play --run=runs/quick                       # you against a trained network
python -m jaxzero.play --game=othello_6x6 --opponent=mcts_200 # without training anything
python -m jaxzero.play --run=runs/quick --versus=mcts_200 --games=4 --record=games.svg
python -m jaxzero.play --replay=game.txt                      # a record again, move by move
python -m jaxzero.play --web                                  # all of it on a page in the browser
"""

import importlib.util
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TextIO

import numpy as np

from jaxzero import arguments, pretrained, runs
from jaxzero.arguments import Parser
from jaxzero.games import Game, make_game
from jaxzero.play import board_players
from jaxzero.play.board_players import BoardPlayer, analyse
from jaxzero.play.display import boards, records, session, tournament_games
from jaxzero.play.display.records import Record
from jaxzero.play.terminal.console import Console
from jaxzero.play.terminal.dialogue import Table, converse
from jaxzero.play.terminal.spectator import show_records, watch
from jaxzero.runs import Run, backend
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config, nearest

_COUNSEL = "mcts_200"  # where the opponent does not search
_SIDES = {"first": 0, "second": 1, "random": None}
_OPENING = 2  # random moves before each pair of several games
_RUN_FLAGS = ("member", "iteration", "simulations")


def _parser() -> Parser:
    parser = Parser(
        prog="python -m jaxzero.play",
        description="A person against a player, or two players, on any game.",
    )
    add = parser.add_argument
    ships = ", ".join(pretrained.names())
    add("--player", metavar="NAME", help=f"one that ships: {ships}")
    add("--run", metavar="DIR", help="the player: a network of this run directory")
    add("--member", metavar="NAME", help="which run of a population (default: the first)")
    add("--iteration", metavar="N", type=int, help="the network after it (default: the newest)")
    add("--simulations", metavar="M", type=int, help="of each search (default: as in training)")
    add("--game", metavar="NAME", help="the board, e.g. othello_6x6; with --run: its own")
    add(
        "--opponent",
        metavar="NAME",
        help="a player without a network: random, greedy or mcts_N (200)",
    )
    add("--side", choices=_SIDES, help="yours, or the player's with --versus (default: first)")
    add("--seed", metavar="N", type=int, help="of everything random (default: 0)")
    opening = "random moves before a game (default: 0; 2 before each pair of several games)"
    add("--opening", metavar="K", type=int, help=opening)
    watched = "watch it against another run, pretrained:NAME, random, greedy or mcts_N"
    add("--versus", metavar="DIR|NAME", help=watched)
    add("--versus-member", metavar="NAME", help="of the other run")
    add("--versus-iteration", metavar="N", type=int, help="of the other run")
    add("--versus-simulations", metavar="M", type=int, help="of the other run")
    add("--games", metavar="N", type=int, help="how many with --versus, sides in turn")
    add("--record", metavar="FILE", help="keep the games: .txt, .svg, or .play.svg, which moves")
    add("--replay", metavar="FILE", help="print a record again, .txt or a tournament's .npz")
    two = "the two of a tournament whose games --replay=RUN/games/final.npz prints"
    add("--between", metavar="NAME,NAME", type=arguments.words, help=two)
    add("--web", action="store_true", help="on a page in the browser, for this machine alone")
    add("--port", metavar="N", type=int, help="of the page (default: a free one)")
    return parser


def main(
    argv: Sequence[str] | None = None, source: TextIO | None = None, target: TextIO | None = None
) -> int:
    """The command; returns its exit status: 0, 2 for what can't be, 130 when interrupted.

    `argv`: without the program's name, by default those of the process; `source`, `target`: where a
    person types and reads, by default standard input and output.
    """
    console = Console(source or sys.stdin, target or sys.stdout)
    try:
        with devices.known_platforms():
            _run(_parser().parse(argv), console)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        console.say("", "interrupted")
        return 130
    return 0


def _run(given: Namespace, console: Console) -> None:
    if given.player and given.run:
        raise ConfigError(f"--player={given.player} and --run={given.run}: choose one")
    if given.player:
        given.run = pretrained.PREFIX + given.player.removeprefix(pretrained.PREFIX)
    _refuse_contradictions(given)
    given.side, given.seed = given.side or "first", given.seed or 0
    if given.web:
        _serve(given, console)
        return
    if given.record is not None:
        records.check_target(given.record)
    if given.replay:
        recorded = _recorded(given)
        show_records(recorded, console)
        _keep(given.record, recorded, console)
        return
    backend.prepare(default_config())  # compiled programs are kept, as those of training
    game, player = _player(given, console)
    side = _SIDES[given.side]
    if given.versus is None:
        counsel = player if player.searches else board_players.plain(_COUNSEL, game)
        table = Table(game, player, counsel, side, given.seed, given.opening or 0)
        _compile(game, [player, counsel], console)
        converse(table, console)
        return
    other = _other(given, game)
    _compile(game, [player, other], console)
    games = given.games or 1
    first = int(np.random.default_rng(given.seed).integers(2)) if side is None else side
    default = _OPENING if games > 1 else 0  # deterministic players would repeat themselves
    played: list[Record] = []
    try:
        watch(
            game,
            (player, other),
            console,
            played,
            games=games,
            first=first,
            opening=default if given.opening is None else given.opening,
            seed=given.seed,
        )
    finally:  # also those that were finished when it was interrupted
        if played:
            _keep(given.record, played, console)


def _serve(given: Namespace, console: Console) -> None:
    """The page, until it is interrupted."""
    if importlib.util.find_spec("werkzeug") is None:
        raise ConfigError('--web needs werkzeug, which is not installed: pip install -e ".[web]"')
    from jaxzero.play.web import begin  # which imports it

    recorded = None
    if given.replay:
        [first, *others] = _recorded(given)
        recorded = first
        if others:
            count = 1 + len(others)
            console.say(f"of {count} games in {given.replay} the page shows the first")
    run = _run_of(given)
    if given.game is not None:
        _game(given.game)
    backend.prepare(default_config())
    side = _SIDES[given.side]
    if side is None:
        side = int(np.random.default_rng(given.seed).integers(2))
    catalogue, choice = begin.choose(
        run,
        member=given.member,
        at=given.iteration,
        simulations=given.simulations,
        game=given.game,
        opponent=given.opponent,
        recorded=recorded,
    )
    site = begin.make_site(catalogue, choice, side=side, seed=given.seed)
    begin.serve(site, choice, seed=given.seed, port=given.port or 0, say=console.say)


def _recorded(given: Namespace) -> list[Record]:
    """The games of `--replay`, those of two players where it is a tournament."""
    if given.replay.endswith(tournament_games.SUFFIX):
        return tournament_games.read(given.replay, given.between or ())
    if given.between:
        raise ConfigError(f"--between={','.join(given.between)} needs a .npz file in --replay")
    return records.read(given.replay)


def _refuse_contradictions(given: Namespace) -> None:
    """Flags that can't go together, before anything is opened."""
    for name, least in (("games", 1), ("opening", 0), ("seed", 0)):
        value = getattr(given, name)
        if value is not None and value < least:
            raise ConfigError(f"--{name}={value}: choose {least} or more")
    if given.seed is not None and given.seed >= 2**31:
        raise ConfigError(f"--seed={given.seed}: choose {2**31 - 1} or less")
    if given.port is not None and not given.web:
        raise ConfigError(f"--port={given.port} is for --web: add it")
    for name in ("versus", "games", "record", "opening") if given.web else ():
        if getattr(given, name) is not None:
            raise ConfigError(f"--{name}={getattr(given, name)} does not go with --web")
    if given.between and not given.replay:
        raise ConfigError(f"--between={','.join(given.between)} needs --replay=RUN/games/final.npz")
    if given.replay:
        others = ["player", "run", "game", "opponent", "versus", "games", "opening", *_RUN_FLAGS]
        others += ["side", *([] if given.web else ["seed"])]
        of_other = (f"versus_{name}" for name in _RUN_FLAGS)
        clash = [name for name in (*others, *of_other) if getattr(given, name) is not None]
        if clash:
            flag = clash[0].replace("_", "-")
            raise ConfigError(f"--replay={given.replay} goes with --record or --web, not --{flag}")
        return
    if given.run and given.opponent:
        raise ConfigError(
            f"--run={given.run} and --opponent={given.opponent}: choose one to play against, or "
            f"watch them with --run={given.run} --versus={given.opponent}"
        )
    if not given.run and not given.opponent and not given.web:
        raise ConfigError(
            "who is to play? --run=DIR, --player=NAME, or --game=othello_6x6 --opponent=random, "
            "greedy or mcts_200"
        )
    if given.opponent and not given.game:
        raise ConfigError(f"--opponent={given.opponent} needs a board: --game=othello_6x6")
    for name in _RUN_FLAGS:
        value, of_other = getattr(given, name), getattr(given, f"versus_{name}")
        if value is not None and not given.run:
            raise ConfigError(f"--{name}={value} belongs to a network: give its --run=DIR")
        if of_other is not None and (given.versus is None or _is_plain(given.versus)):
            raise ConfigError(f"--versus-{name}={of_other} belongs to a network: --versus=DIR")
    if given.versus is None:
        for name in ("games", "record"):
            if getattr(given, name) is not None:
                value = getattr(given, name)
                raise ConfigError(f"--{name}={value} is for --versus; a person types save FILE")


def _is_plain(name: str) -> bool:
    return name in board_players.PLAIN_NAMES or name.startswith("mcts_")


def _run_of(given: Namespace) -> Run | None:
    """The run that is asked for, on the board that is asked for."""
    run = runs.open_run(given.run) if given.run else None
    if run is not None and given.game not in (None, run.spec.game.name):
        raise ConfigError(f"--game={given.game}: {given.run} plays {run.spec.game.name}")
    return run


def _player(given: Namespace, console: Console) -> tuple[Game, BoardPlayer]:
    """The board, and who plays on it."""
    run = _run_of(given)
    if run is not None:
        if given.member is None and len(run.members) > 1:
            names = ", ".join(member.name for member in run.members)
            console.say(f"runs of {given.run}, of which --member chooses: {names}")
        member = runs.choose(run, given.member)
        return run.spec.game, board_players.of_run(
            run, member, at=given.iteration, simulations=given.simulations
        )
    game = _game(given.game)
    return game, board_players.plain(given.opponent, game)


def _other(given: Namespace, game: Game) -> BoardPlayer:
    """Whom the player is watched against."""
    if _is_plain(given.versus):
        return board_players.plain(given.versus, game)
    if not pretrained.resolve(given.versus).is_dir():
        ships = [pretrained.PREFIX + name for name in pretrained.names()]
        hint = nearest(given.versus, [*board_players.PLAIN_NAMES, *ships])
        raise ConfigError(f"--versus={given.versus} is no run directory and no player: {hint}")
    run = runs.open_run(given.versus)
    if run.spec.game.name != game.name:
        raise ConfigError(f"--versus={given.versus} plays {run.spec.game.name}, not {game.name}")
    return board_players.of_run(
        run,
        runs.choose(run, given.versus_member),
        at=given.versus_iteration,
        simulations=given.versus_simulations,
        flag="--versus-simulations",
    )


def _game(name: str) -> Game:
    try:
        return make_game(name)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"--game={name}: {error}") from error


def _compile(game: Game, players: Sequence[BoardPlayer], console: Console) -> None:
    """Makes everything that will be asked for once: the rules, the board, every player."""
    names = list(dict.fromkeys(player.name for player in players))
    console.say(f"compiling {game.name} and {' and '.join(names)}...")
    started = time.monotonic()
    start = session.begin(game)
    moved = session.play(start, int(np.flatnonzero(start.now.legal)[0]))
    boards.board(moved)
    for player in players:
        analyse(player, start, 0)
    console.say(f"compiled in {time.monotonic() - started:.1f} s", "")


def _keep(path: str | None, played: Sequence[Record], console: Console) -> None:
    if path is not None:
        records.write(path, played)
        console.say(f"kept in {path}")


def start() -> None:
    """`python -m jaxzero.play`."""
    arguments.run(lambda: sys.exit(main()))
