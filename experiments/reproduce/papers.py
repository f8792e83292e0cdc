"""What each paper has, as data: the parts that make it, and its tables and figures in its order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from experiments.configs import loss_ablation
from jaxzero.settings.config import ConfigError, nearest

SCALES: Final = ("quick", "laptop", "gpu", "paper")
LOSSES, SWEEP, CORRELATION = "loss_ablation", "hyperparameter_sweep", "hyperparameter_correlation"
SUPERVISED, EFFICIENCY = "connect_four_supervised", "connect_four_efficiency"
EXTENSIONS, CURRICULUM = "connect_four_extensions", "curriculum"

# Of the presets `quick`, so that a paper of several boards takes minutes on two CPU cores.
_QUICKER: Final[Mapping[str, Mapping[str, Any]]] = {
    LOSSES: {
        "train.iterations": 5,
        "train.epochs": 2,
        "study.tournament_games": 10,
        "study.ladder_games": 4,
    }
}


@dataclass(frozen=True)
class Part:
    """One study on one board under one semantics: one command, one run directory."""

    study: str  # module of `experiments`, and name of its settings file
    about: str = ""  # what tells it from others of its study: a board or a variant; may be empty
    semantics: str = "corrected"  # of its settings
    suffix: str = ""  # of the preset's name, behind the scale

    @property
    def name(self) -> str:
        """`loss_ablation.othello_6x6.published`."""
        return ".".join(filter(None, [self.study, self.about, self.semantics]))

    def changes(self, scale: str) -> dict[str, Any]:
        """Dotted keys that differ from the preset's."""
        quicker = _QUICKER.get(self.study, {}) if scale == "quick" else {}
        return dict(quicker) | {"semantics": self.semantics}

    def words(self, scale: str) -> list[str]:
        """Of its command, behind `python`, all but the run directory."""
        return [
            "-m",
            f"experiments.{self.study}",
            f"--config=experiments/configs/{self.study}.py:{scale}{self.suffix}",
            *(f"--config.{key}={value}" for key, value in self.changes(scale).items()),
        ]

    def retry(self) -> list[str]:
        """What its command takes to try again what failed in it."""
        skips_failed = self.study in (SWEEP, CORRELATION)
        return ["--config.execution.retry_failed=True"] if skips_failed else []


class Exhibit(NamedTuple):
    """A table, a figure or a group of claims of a paper, and where ours is."""

    label: str  # as the paper has it
    shows: str  # what it is
    study: str = ""  # whose reports hold it; empty: no command makes it
    plates: tuple[str, ...] = ()  # names of the figures in the report
    tables: tuple[str, ...] = ()  # how the titles of its tables begin
    # of the parts whose own reports hold it; empty: those of all, and of the loss ablation the
    # joint report of its boards
    about: str = ""
    note: str = ""  # what the reader must know


@dataclass(frozen=True)
class Paper:
    """A paper."""

    number: str  # of its file
    name: str  # e.g. `wang2019`.
    title: str  # authors, title, place
    parts: tuple[Part, ...]  # in the order in which they run
    exhibits: tuple[Exhibit, ...] = field(repr=False)  # in the paper's order

    @property
    def cited(self) -> str:
        """`Wang 2019`, as claims and captions name it."""
        return f"{self.name[:-4].capitalize()} {self.name[-4:]}"


def _losses(*boards: str) -> tuple[Part, ...]:
    """Both semantics of each board."""
    return tuple(
        Part(LOSSES, board, semantics, f".{board}")
        for board in boards
        for semantics in ("corrected", "published")
    )


_HYPERPARAMETERS = (Part(SWEEP), Part(CORRELATION))
_CLAIMS = "The paper's claims"
_LOSS_CLAIMS = ("Verdicts on the papers' claims", "Contrasts of the claims")


def _sweep_exhibits(losses: str, elo: str, times: str, fronts: str) -> tuple[Exhibit, ...]:
    """Sections 6.1 and 6.2, whose figures 000 and 003 number differently."""
    return (
        Exhibit("Table 1", "Settings of the sweep", SWEEP, tables=("Settings",)),
        Exhibit(losses, "Training loss by hyper-parameter", SWEEP, ("sweep_losses",)),
        Exhibit("Section 6.1", "Remarks on the figure", SWEEP, tables=("The papers' remarks",)),
        Exhibit("Table 3", "Time cost", SWEEP, tables=("Time cost by setting",)),
        Exhibit("Table 4", "Importance", SWEEP, tables=("Importance for loss and time",)),
        Exhibit("Table 2", "Settings of the correlation", CORRELATION, tables=("Settings",)),
        *(
            Exhibit(
                label, shows, CORRELATION, (f"own_simulations_{kind}", f"same_simulations_{kind}")
            )
            for label, shows, kind in (
                (elo, "Elo over I, E, m and ep", "panels"),
                (times, "Elo over time", "times"),
                (fronts, "Pareto fronts", "fronts"),
            )
        ),
        Exhibit("Section 6.2", "Claims", CORRELATION, tables=("The papers' claims",)),
    )


def _epochs(label: str) -> Exhibit:
    return Exhibit(label, "Every epoch of one run", LOSSES, ("epochs",), about="othello_6x6")


_LOSS_TABLES = ("Tournament Elo by board",)
_TABLE_1, _FEATURES = "table_1", "features"  # the two supervised parts of 002
_SUPERVISED = ("Supervised accuracy", _CLAIMS)
PAPERS: Final = (
    Paper(
        "000",
        "wang2020",
        "Wang, Emmerich, Preuss, Plaat: Analysis of Hyper-Parameters for Small Games: Iterations "
        "or Epochs in Self-Play? (2020)",
        (
            *_HYPERPARAMETERS,
            *_losses(
                "othello_5x5", "othello_6x6", "connect_four_5x5", "connect_four_6x6",
                "gobang_5x5", "gobang_6x6",
            ),
        ),
        (
            Exhibit("Fig. 1", "Boards", LOSSES, ("boards",)),
            _epochs("Fig. 2"),
            *_sweep_exhibits("Fig. 3", "Fig. 4", "Fig. 5", "Fig. 6"),
            Exhibit("Figs. 7 to 9", "Training losses by minimised loss", LOSSES, ("losses",)),
            Exhibit("Fig. 10", "Training Elo", LOSSES, ("training_elo",)),
            Exhibit("Fig. 11", "Tournament", LOSSES, ("tournaments",), _LOSS_TABLES),
            Exhibit("Section 6.3", "Claims on the losses", LOSSES, tables=_LOSS_CLAIMS),
        ),
    ),
    Paper(
        "001",
        "wang2019",
        "Wang, Emmerich, Preuss, Plaat: Alternative Loss Functions in AlphaZero-like Self-play "
        "(2019)",
        _losses("othello_5x5", "othello_6x6", "connect_four_5x5", "connect_four_6x6"),
        (
            Exhibit("Fig. 1", "Boards", LOSSES, ("boards",)),
            Exhibit("Table I", "Settings", LOSSES, tables=("Settings",), about="othello_6x6"),
            Exhibit("Figs. 2 to 4", "Training losses by minimised loss", LOSSES, ("losses",)),
            Exhibit("Fig. 5", "Training Elo", LOSSES, ("training_elo",)),
            Exhibit("Fig. 6", "Tournament", LOSSES, ("tournaments",), _LOSS_TABLES),
            Exhibit("Section V", "Claims", LOSSES, tables=_LOSS_CLAIMS),
        ),
    ),
    Paper(
        "002",
        "clausen2021",
        "Clausen, Reichhuber, Thomsen, Tomforde: Improvements to Increase the Efficiency of the "
        "AlphaZero Algorithm: A Case Study in the Game 'Connect 4' (2021)",
        (
            Part(SUPERVISED, _TABLE_1),
            Part(SUPERVISED, _FEATURES, suffix=f"_{_FEATURES}"),
            Part(EFFICIENCY),
            Part(EXTENSIONS),
        ),
        (
            Exhibit(
                "Section 2.4",
                "Extensions of others",
                note="What section 2.4 cites of others and 002 has no runs of: python -m "
                "experiments.connect_four_efficiency "
                "--config=experiments/configs/connect_four_efficiency.py:laptop "
                "--config.study.arms=baseline,playout_caps,forced_playouts,known_results,"
                "move_values,mixed_values,few_head_filters --workdir=runs/others",
            ),
            Exhibit(
                "Table 1", "Supervised accuracy", SUPERVISED, (), _SUPERVISED, about=_TABLE_1
            ),
            *(
                Exhibit(f"Fig. {number}", shows, EFFICIENCY, (plate,))
                for number, shows, plate in (
                    (1, "Merged duplicates", "efficiency_dedupe"),
                    (2, "Cyclic learning rate and momentum", "cycle"),
                    (3, "Cyclic learning rate against the baseline", "efficiency_cyclic"),
                    (4, "Slow window", "efficiency_slow_window"),
                    (5, "The opponent's reply", "efficiency_reply"),
                    (6, "Squeeze and excite", "efficiency_squeeze_excite"),
                    (7, "Baseline and extended baseline", "efficiency_baselines"),
                )
            ),
            Exhibit(
                "Table 2",
                "Networks",
                note="network.name=resnet builds them; network.squeeze_excite and "
                "train.reply_weight are the extended one's.",
            ),
            Exhibit(
                "Section 3", "Accuracy and cost", EFFICIENCY, (), ("Accuracy and cost", _CLAIMS)
            ),
            *(
                Exhibit(f"Fig. {number}", shows, EXTENSIONS, (f"extensions_{plate}",), (*tables,))
                for number, shows, plate, *tables in (
                    (8, "Each position searched once", "cached"),
                    (9, "One large tree", "tree"),
                    (10, "Features of a smaller network", "features"),
                    (11, "Growing networks", "growing", "Where networks grow"),
                    (12, "Evolving players", "evolution"),
                    (13, "Evolving for novelty", "novelty"),
                )
            ),
            Exhibit(
                "Sections 3.2 and 4.2",
                "The easy set beside the hard one; features in supervised training",
                SUPERVISED,
                (),
                (*_SUPERVISED, "Positions"),
                about=_FEATURES,
                note="With few examples (8,000, a remark in the authors' program) the laptop scale "
                "has them. At every scale: python -m experiments.connect_four_supervised "
                "--config=experiments/configs/connect_four_supervised.py:few --workdir=runs/few",
            ),
            Exhibit(
                "Section 4.3",
                "Constants of the search",
                note="The authors' Bayesian search, which only their thesis shows: python -m "
                "experiments.connect_four_search "
                "--config=experiments/configs/connect_four_search.py:paper "
                "--workdir=runs/constants",
            ),
            Exhibit("Section 4", "Claims on the extensions", EXTENSIONS, tables=(_CLAIMS,)),
            Exhibit(
                "Section 4",
                "What a level costs",
                EXTENSIONS,
                tables=("Hours to a level", "Published: hours"),
            ),
        ),
    ),
    Paper(
        "003",
        "wang2023",
        "Wang, Emmerich, Preuss, Plaat: Analysis of Hyper-Parameters for AlphaZero-Like Deep "
        "Reinforcement Learning (2023)",
        (*_HYPERPARAMETERS, *_losses(*loss_ablation.BOARDS)),
        (
            Exhibit("Fig. 1", "Boards", LOSSES, ("boards",)),
            Exhibit("Fig. 2", "The algorithm", LOSSES, ("schema",)),
            _epochs("Fig. 3"),
            *_sweep_exhibits("Fig. 4", "Fig. 5", "Fig. 6", "Fig. 7"),
            Exhibit("Fig. 8", "Training losses by minimised loss", LOSSES, ("losses",)),
            Exhibit("Fig. 9", "Training Elo", LOSSES, ("training_elo",)),
            Exhibit("Fig. 10", "Tournament", LOSSES, ("tournaments",), _LOSS_TABLES),
            Exhibit("Fig. 11", "Elo over Othello's board size", LOSSES, ("othello_sizes",)),
            Exhibit("Section 6.3", "Claims on the losses", LOSSES, tables=_LOSS_CLAIMS),
        ),
    ),
    Paper(
        "004",
        "west2020",
        "West, Maire, Browne, Denman: Improved Reinforcement Learning with Curriculum (2020)",
        (
            Part(CURRICULUM, "racing_kings", suffix="_racing_kings"),
            Part(CURRICULUM, "reversi"),
            Part(CURRICULUM, "racing_kings_gate", suffix="_racing_kings_gate"),
        ),
        (
            Exhibit("Fig. 1", "Where games begin", CURRICULUM, ("start",)),
            Exhibit("Fig. 2", "Network", note="A drawing; network.style=curriculum builds it."),
            Exhibit("Fig. 3", "Training loops", note="A drawing; arena.gate is none or wilson."),
            Exhibit(
                "Tables I and II",
                "Settings",
                note="The presets paper_racing_kings and paper of experiments/configs/curriculum.py"
                " have them, docs/curriculum.md what they leave unsaid.",
            ),
            *(
                Exhibit(
                    label, shows, CURRICULUM, ("win_ratio",), ("Win ratios", _CLAIMS), about
                )
                for label, shows, about in (
                    ("Fig. 4", "Racing Kings", "racing_kings"),
                    ("Fig. 5", "Reversi", "reversi"),
                    ("Fig. 6", "Racing Kings with a gate", "racing_kings_gate"),
                )
            ),
        ),
    ),
)  # fmt: skip


def find(word: str) -> Paper:
    """The paper of a number, or of a name. ConfigError: there is none."""
    named = {key: paper for paper in PAPERS for key in (paper.number, paper.name)}
    if word not in named:
        raise ConfigError(f"PAPER={word!r}: {nearest(word, list(named))}")
    return named[word]
