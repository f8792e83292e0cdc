"""Players that ship: folders of one trained network each, with what is known of it in `card.json`.

Each is a run directory, made by `experiments.train`; every command that takes one also takes
`pretrained:NAME`.
"""

from pathlib import Path

from jaxzero import files
from jaxzero.settings.config import ConfigError

PREFIX = "pretrained:"
CARD = "card.json"
_FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The players that there are, in the order of the alphabet."""
    return tuple(sorted(path.parent.name for path in _FOLDER.glob(f"*/{CARD}")))


def directory(name: str) -> Path:
    """The run directory of a player. ConfigError: there is none of that name."""
    if name not in names():
        known = f"there are {', '.join(names())}" if names() else "there is none"
        raise ConfigError(f"{PREFIX}{name}: no such player ships, {known}")
    return _FOLDER / name


def resolve(place: str | Path) -> Path:
    """A run directory from `pretrained:NAME` or its path. ConfigError: see `directory`."""
    text = str(place)
    return (
        directory(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else files.from_home(place)
    )


def named(place: Path) -> str:
    """`pretrained:NAME` of a player that ships, else the path."""
    return f"{PREFIX}{place.name}" if place.parent == _FOLDER else str(place)
