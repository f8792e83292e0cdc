"""W&B's workspace and report of a project, made by code.

python -m experiments.dashboards PROJECT
python -m experiments.dashboards TEAM/PROJECT --group=loss_ablation/quick

Both show what the studies send: losses by minimised loss with bands over seeds, strength, health of
self-play, final tables and figures. Each call makes a new view and a new report, and changes none.
"""

import importlib
from collections.abc import Sequence
from typing import Any

from jaxzero import arguments
from jaxzero.settings.config import ConfigError

_REPORTS, _WORKSPACES = "wandb_workspaces.reports.v2", "wandb_workspaces.workspaces"

# Metrics of single runs, by section: mean and standard deviation over the seeds of a target.
CURVES = {
    "Losses": ("loss/minimised", "loss/policy", "loss/value", "loss/sum", "loss/product"),
    "Losses on games that were not learned from": (
        "unseen/policy", "unseen/value", "heldout/policy", "heldout/value",
    ),
    "Self-play": (
        "selfplay/distinct_games", "selfplay/distinct_positions", "selfplay/draws",
        "selfplay/first_player_wins", "selfplay/plies", "selfplay/policy_entropy",
        "replay/effective_share", "search/depth_mean", "search/root_value_at_start",
    ),
    "Gate": ("arena/accepted", "arena/distinct_games", "elo/running"),
    "Work": ("seconds", "count/games", "count/evaluations", "count/gradient_steps"),
}  # fmt: skip
# Metrics of a study, which has a curve for each of its runs; one panel each.
STUDY_CURVES = (
    "elo/ladder", "learning/search", "learning/network", "learning/value_error", "elo/training",
    "accuracy/search",
)  # fmt: skip
FINAL = ("elo/final", "elo/low", "elo/ladder")  # of single runs, by target
TABLES = ("tournament/final", "tournament/low", "ladder/anchors", "checks", "arms", "groups")
FIGURES = (
    "losses", "held_out", "training_elo", "elo_bias", "ladder", "tournament_1", "tournament_2",
    "learning", "selfplay",
)  # fmt: skip
_ALL = "Elo above fixed opponents is strength; training Elo, from games against oneself, is not."


def sections() -> dict[str, list[Any]]:
    """Panels of W&B's library, by heading. ConfigError: the library is missing."""
    wr = _library(_REPORTS)
    target = {"groupby": wr.Config("target"), "groupby_aggfunc": "mean"}
    found: dict[str, list[Any]] = {
        heading: [
            wr.LinePlot(title=name, x="iteration", y=[name], groupby_rangefunc="stddev", **target)
            for name in metrics
        ]
        for heading, metrics in CURVES.items()
    }
    found["Strength and accuracy, by run"] = [
        wr.LinePlot(title=name, x="iteration", metric_regex=f"^{name}/") for name in STUDY_CURVES
    ]
    found["At the end"] = [
        wr.BarPlot(title=name, metrics=[name], groupby_rangefunc="stderr", **target)
        for name in FINAL
    ]
    found["Tables"] = [wr.WeavePanelSummaryTable(table_name=name) for name in TABLES]
    found["Figures"] = [
        wr.MediaBrowser(title=name, media_keys=[f"figures/{name}"]) for name in FIGURES
    ] + [wr.MediaBrowser(title="report", media_keys=["report"])]
    return found


def workspace(entity: str, project: str, group: str = "") -> Any:
    """The view of all runs of a project, or of one group of them; not saved."""
    ws = _library(_WORKSPACES)
    return ws.Workspace(
        entity=entity,
        project=project,
        name=group or "jaxzero",
        runset_settings=ws.RunsetSettings(filters=_only(group)),
        sections=[
            ws.Section(name=heading, panels=panels, is_open=heading != "Work")
            for heading, panels in sections().items()
        ],
    )


def report(entity: str, project: str, group: str = "") -> Any:
    """A report on all runs of a project, or of one group of them; not saved."""
    wr = _library(_REPORTS)
    blocks: list[Any] = [wr.TableOfContents(), wr.P(_ALL)]
    for heading, panels in sections().items():
        runs = wr.Runset(name=group or "all runs", filters=_only(group))
        blocks += [wr.H2(heading), wr.PanelGrid(panels=panels, runsets=[runs])]
    title = f"{project}: {group or 'self-play'}"
    return wr.Report(entity=entity, project=project, title=title, width="fluid", blocks=blocks)


def _only(group: str) -> str:
    """W&B's filter of the runs of a group, `STUDY/WORKDIR`."""
    return f"Group == {group!r}" if group else ""


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            "experiments.dashboards: wandb-workspaces is not installed, "
            'pip install -e ".[dashboards]"'
        ) from error


def main(words: Sequence[str] | None = None) -> None:
    """Makes and saves both; prints where they are."""
    parser = arguments.Parser(
        prog="python -m experiments.dashboards", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("project", help="of W&B, PROJECT or TEAM/PROJECT; it must exist")
    parser.add_argument("--group", default="", help="of runs, STUDY/WORKDIR (default: all)")
    given = parser.parse(words)
    team, _, project = given.project.rpartition("/")
    _library(_REPORTS)
    wandb = importlib.import_module("wandb")
    try:
        entity = team or wandb.Api().default_entity
        for make in (workspace, report):
            made = make(entity, project, given.group)
            made.save()
            print(made.url)
    except wandb.errors.UsageError as error:
        raise ConfigError(
            "experiments.dashboards: nobody is logged in; run `wandb login` or set WANDB_API_KEY"
        ) from error
    except (wandb.errors.Error, OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(f"{project}: W&B made no dashboard ({reason})") from error


if __name__ == "__main__":
    arguments.run(main)
