"""The end-game-first curriculum (West 2020): study, reference engines, report."""
