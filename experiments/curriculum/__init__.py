"""The end-game-first curriculum (paper 004): study, reference engines, report."""
