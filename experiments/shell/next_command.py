"""The last line of a command: what to run next, to be pasted as it stands."""

import shlex
from pathlib import Path

from jaxzero import workdir
from jaxzero.games import OWN, make_game
from jaxzero.runs import Run
from jaxzero.runs.processes import say


def suggest(what: str, module: str, *words: object) -> None:
    """Says `next, WHAT: python -m MODULE WORDS`."""
    say(f"next, {what}: {shlex.join(['python', '-m', module, *map(str, words)])}")


def after_measuring(run: Run) -> None:
    """After something was measured of a run: the report that shows it, or the network."""
    if run.study == "loss_ablation":
        suggest("to show it", "experiments.report", run.directory)
    else:
        say(play_it(run.directory, run.config.game))


def play_it(directory: Path, game: str) -> str | None:
    """Plays against a network of a study, with its game's module; None: nothing can be played."""
    places = ("player", ".", "*", "*/*")
    kept = [one for at in places for one in sorted(directory.glob(f"{at}/{workdir.MEMBERS}"))]
    try:
        module = type(make_game(game)).__module__
    except ValueError:  # another program's game
        return None
    if not kept or module == "__main__":
        return None
    own = "" if module.startswith("jaxzero.") else f"{OWN}={module} "
    return f"next: {own}python -m jaxzero.play {shlex.quote(f'--run={kept[0].parent}')}"
