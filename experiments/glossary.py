"""The glossary, from the tables of keys: `python -m experiments.glossary > docs/glossary.md`.

A test holds the file to what this prints.
"""

import importlib
import pkgutil
from collections.abc import Sequence

from experiments import configs
from experiments.shell.usage import UNSET, show
from jaxzero import arguments
from jaxzero.settings import companions
from jaxzero.settings.config import KEYS
from jaxzero.settings.keys import Key, table
from jaxzero.settings.table import SECTIONS
from jaxzero.tracking import Sheet

TERMS: dict[str, str] = {
    "l_p": "policy loss: cross entropy -pi^T log p of the network's policy p and the target pi, "
    "in nats; target `policy`",
    "l_v": "value loss: squared error (v - z)^2 of the network's value v and the game's result z; "
    "cross entropy with a win/draw/loss head; target `value`",
    "l_+": "l_p + l_v, what AlphaZero minimises; target `sum`",
    "l_x": "l_p l_v, the product of the two means over a minibatch; target `product`",
    "l_lambda": "lambda l_p + (1 - lambda) l_v; target `weighted`",
    "p, v": "what the network says of a position: a probability for each move, and the expected "
    "result for the player to move, in [-1, 1]",
    "pi, z": "what it learns: the share of visits of each move in a search, and the result of the "
    "game for the player to move (+1 won, 0 drawn, -1 lost)",
    "ply": "one move of one player; a pass is one too",
    "position, example": "a position is seen in a game; each of its symmetric images is an example",
    "search, simulation": "Monte Carlo tree search of a position: m simulations, each of which "
    "walks down the tree and evaluates one leaf",
    "plain MCTS": "the same search, evaluating a leaf by a random game played to its end instead "
    "of a network",
    "self-play": "E games of the best network against itself, the examples of an iteration",
    "window": "the examples of the newest rs iterations, from which minibatches are drawn",
    "iteration": "self-play, then training, then arena and gate (Algorithm 1 of Wang 2020)",
    "candidate, best": "the network after training; the network that plays until a candidate takes "
    "its place",
    "arena": "n games of the candidate against the best, half with each side first",
    "gate": "the candidate becomes the best if it wins at least the share u of the decisive games",
    "run, population": "a run is one network's training with one seed; runs that share a compiled "
    "program are a population",
    "target": "which loss a run minimises",
    "preset": "a study's settings under a name; single keys can still be changed",
    "PUCT, Gumbel": "AlphaZero's search rule; Gumbel search with sequential halving (Danihelka et "
    "al. 2022)",
    "mcts_N, greedy, random": "fixed opponents: plain MCTS with N simulations a move, one that "
    "looks one ply ahead, one that does not look",
    "ladder": "games of kept networks against fixed opponents, rated so that `random` is 0",
    "best move": "a move with the best exact score: quickest win or slowest loss",
    "contested position": "one in which some legal move gives the result away; to keep the result "
    "is to choose a move that does not",
    "value error, best constant": "mean squared error of the network's value against the exact "
    "result; the same of the best value that does not look at the position",
    "recalibrated": "what is left of the value error where each bin of values stands for its mean "
    "exact result: what the value knows, however sure it is "
    "([solvers](solvers.md#what-is-measured))",
    "zeta": "share of a game, its end, that is searched and learned from (West 2020)",
    "undecided": "the interval does not exclude what it would have to exclude; see [how claims are "
    "decided](claims.md)",
    "alone, corrected": "an interval of one contrast by itself; of contrasts that are read "
    "together, wider, by Holm's method",
    "semantics, switch": "`corrected` or `published`: what is right, or what the papers' programs "
    "did, one switch for each difference (see [semantics](semantics.md))",
    "Elo": "strength on a scale where 400 more means ten times the odds of winning; the mean of a "
    "pool is 0. Ratings are fitted to all results at once (Bayesian Elo) and carry standard errors",
    "training Elo": "ratings of one run's networks from their arena games alone; inflated, and not "
    "to be compared between runs (Wang 2019)",
    "tournament": "a round robin of kept networks, mostly the final ones, and fixed opponents, by "
    "which runs are compared",
    "member": "a run of a population",
    "arm": "one of the ways of training that a study compares",
    "kept network, snapshot": "a network of an iteration that a run keeps for good "
    "(`execution.snapshot_every`); others are overwritten",
    "opening": "random plies before a pair of games, the same for both colours, so that games of "
    "deterministic players differ",
    "distinct games": "different sequences of moves; a repeated game says nothing new, so only "
    "these count for error bars",
    "held-out games": "fixed games of plain MCTS that no run trains on (`heldout/*`)",
}


def page() -> str:
    """The glossary as Markdown."""
    parts = [
        "# Glossary",
        "Look up a letter of the papers, a term, or a setting. Made by `python -m "
        "experiments.glossary > docs/glossary.md` from the tables of keys "
        "(`jaxzero/settings/table.py`, `experiments/configs/`); edit those.",
        "## Letters of Wang 2020 and 2023",
        Sheet(
            ("letter", "key", "default", "meaning"),
            tuple(
                (f"`{key.letter}`", f"`{key.name}`", f"`{show(key.default)}`", key.meaning)
                for key in KEYS
                if key.letter
            ),
        ).markdown(),
        "## Terms",
        Sheet(("term", "meaning"), tuple(TERMS.items())).markdown(),
        "## Settings",
        "Every key of a run with its default (Table 1 of Wang 2020 and 2023, 6x6 Othello). On the "
        "command line: `--config.train.epochs=5`; presets change the values (`--help` shows them). "
        f"A key whose default is `{UNSET}` may be without a value: `--config.KEY={UNSET}` takes a "
        "preset's away.",
    ]
    for section, meaning in SECTIONS.items():
        keys = [key for key in KEYS if key.section == section]
        if keys:
            parts += [f"### {section or 'general'}: {meaning}", _keys(keys)]
    for study, keys_of_study in study_keys().items():
        parts += [f"## Settings of `experiments.{study}` alone", _keys(keys_of_study)]
    return "\n\n".join(parts) + "\n"


def study_keys() -> dict[str, Sequence[Key]]:
    """The keys that each settings file of `experiments.configs` declares, by the file's name."""
    names = sorted(module.name for module in pkgutil.iter_modules(configs.__path__))
    modules = {name: importlib.import_module(f"{configs.__name__}.{name}") for name in names}
    return {name: module.KEYS for name, module in modules.items()}


def _keys(keys: Sequence[Key]) -> str:
    general, rows = table(KEYS), []
    known = general.keys() | {key.name for own in study_keys().values() for key in own}
    for key in keys:
        letter = key.letter or (general[key.name].letter if key.name in general else "")
        rows.append(
            (
                f"`{key.name}`",
                letter,
                f"`{show(key.default)}`",
                key.allowed,
                companions.described(key, known),
            )
        )
    return Sheet(("key", "letter", "default", "may be", "meaning"), tuple(rows)).markdown()


def main(words: Sequence[str] | None = None) -> None:
    """Prints the page; it takes no words but `--help`."""
    arguments.Parser(prog="python -m experiments.glossary", description=__doc__).parse(words)
    print(page(), end="")


if __name__ == "__main__":
    arguments.run(main)
