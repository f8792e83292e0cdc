"""Parts of the study of the end-game-first curriculum (West 2020): reference, claims, report."""
