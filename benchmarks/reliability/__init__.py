"""How often it goes wrong: random settings, positions, searches and kills, counted.

`tally` keeps the counts, `page` makes docs/reliability.md of them. Positions and searches are held
against the independent engines of `tests/oracles`, which only a checkout has.
"""
