"""Sections of a loss study's report about ratings: training Elo, the ladder, the tournaments."""

from typing import Any

from experiments import published
from experiments.claims import measured
from experiments.losses import elo_figures as elo
from experiments.pages.page import Section, plate, section
from experiments.pages.study import Study
from experiments.pages.wording import moving_first, number, plural, unpublished
from experiments.strength import ladder_figures as ladders
from experiments.strength import papers_tournament as papers
from experiments.strength import tournament_figures as pools


def training_elo(study: Study) -> Section:
    theirs = (
        f"{unpublished('training_elo', study.game).capitalize()}."
        if published.training_elo(study.game) is None
        else "Lower row: the published curves on their own axes."
    )
    how = (
        "32.8 Elo for the newer network, as the authors did"
        if elo.knows_arena(study)
        else "as the study's semantics says"
    )
    return section(
        "Training Elo",
        plate(
            "training_elo",
            elo.training_elo(study),
            "Training Elo",
            "Wang 2020, Fig. 10; Wang 2019, Fig. 5; Wang 2023, Fig. 9. All networks of one run, "
            f"rated from its own arena games ({how}). Zero is the mean of that run's pool: levels "
            f"of different runs cannot be compared. Grey: the means of the other losses. {theirs}",
        ),
        plate(
            "elo_bias",
            elo.bias(study),
            "Training Elo against anchored Elo",
            "What a run seems to gain by games against its own earlier networks (dashed: rated as "
            "in Wang 2020, Fig. 10; thin: with the advantage of moving first fitted), and what it "
            "gains against opponents that do not learn (thick), all above its untrained network; "
            "mean over seeds, bands and bars ± 1 standard deviation; star: in the final "
            "tournament. The gap is the bias of self-play (Wang 2020, section 6.3.2; Wang 2019, "
            "section V.B). Published was training Elo only.",
        ),
    )


def ladder(study: Study) -> Section:
    """Strength over training on one scale, where it was measured."""
    title = "Strength against fixed opponents"
    played = study.results.get("ladder")
    groups = ladders.of_study(study)
    if not played or not groups:
        return section(title)
    m = played["settings"]["simulations"]
    shown = plate(
        "ladder",
        ladders.figure(groups, played["anchors"]),
        title,
        "Kept networks against opponents that do not learn (dashed), who also played each other; "
        "networks did not meet. One pool, random = 0: unlike training Elo, levels of different "
        "runs can be compared, also with those of other studies on this board. Mean over seeds, "
        "band ± 1 standard deviation, thin lines single seeds. Untrained networks are one player "
        f"a seed. {number(played['settings']['games'])} games against each opponent, "
        f"{f'{m} simulations a move' if m else 'simulations a move as in training'}; "
        f"{number(played['games'])} games, {number(played['distinct_games'])} distinct.",
    )
    return section(title, shown, ladders.strengths(groups), ladders.opponents(played))


def papers_tournament(study: Study) -> Section:
    """The final tournament among the papers' players."""
    ratings = papers.ratings(study)
    drawn = papers.figure({study.game: (study.game, ratings)})
    caveat = (published.load(published.LOSSES) or {}).get("tournament_caveat", "")
    overlay = (
        f"Diamonds: the published ratings, mean ± standard deviation of their eight entries. "
        f"{caveat}"
        if published.tournament(study.game)
        else f"{unpublished('tournament', study.game).capitalize()}."
    )
    if measured.one_model_per_target(study):
        overlay += (
            " Here, too, the entries of a loss are one model: published semantics. Claims are "
            "decided by the tournament of all models."
        )
    players = sum(map(len, ratings.values()))
    shown = plate(
        "papers_tournament",
        drawn,
        "The papers' tournament",
        "Wang 2020, Fig. 11; Wang 2019, Fig. 6; Wang 2023, Fig. 10. Final networks and a random "
        f"player ({plural(players, 'player')}), full search, rated without the study's other "
        f"entrants, so that the pool is the papers' one. {overlay}",
    )
    return section("Tournament of the papers", shown)


def tournament(study: Study, played: dict[str, Any], place: int) -> Section:
    title = played["title"]
    ranked = pools.by_rating(played)
    shown = plate(
        f"tournament_{place + 1}",
        pools.figure(played),
        title,
        f"Every point is one player. {_terms(played)} The papers had no such players in their "
        "tournaments.",
    )
    return section(
        title if title.lower().startswith("tournament") else f"Tournament: {title}",
        shown,
        pools.targets(study, played),
        pools.cross(played),
        pools.ratings(ranked),
        pools.scores(ranked) if played.get("results") else None,
    )


def _terms(played: dict[str, Any]) -> str:
    """How a tournament was played and rated."""
    known = [
        ("{} simulations per move", "num_simulations", 0),
        ("{} games per pair", "games_per_pair", 0),
        ("{} games", "games", 0),
        ("{} of them distinct", "distinct_games", 0),
        ("draw Elo {}", "draw_elo", 1),
    ]
    lines = [
        text.format(number(played[key], digits))
        for text, key, digits in known
        if played.get(key) is not None
    ]
    if None not in (played.get("advantage"), played.get("draw_elo")):
        lines.insert(-1, moving_first(played))
    return f"{'; '.join(lines)}." if lines else ""
