"""From what runs measured to effects with intervals, and to verdicts on the papers' claims."""
