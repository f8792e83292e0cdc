"""A part of a paper that runs the fake study."""

import dataclasses

from experiments.reproduce.papers import Part

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
