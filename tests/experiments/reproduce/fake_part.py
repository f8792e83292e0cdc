"""A part of a paper that runs the fake study."""

import dataclasses

from experiments.reproduce.papers import Exhibit, Paper, Part

FAKE = "tests.experiments.reproduce.fake_study"


@dataclasses.dataclass(frozen=True)
class Fake(Part):
    """`pause`: seconds of each of its steps."""

    pause: float = 0.0

    @property
    def name(self) -> str:
        return self.about

    def words(self, scale: str) -> list[str]:
        return ["-m", FAKE, f"--pause={self.pause}"]


def paper(*fakes: Fake, exhibits: tuple[Exhibit, ...] = ()) -> Paper:
    """A paper of these parts."""
    return Paper("000", "fake2020", "A paper", fakes, exhibits)
