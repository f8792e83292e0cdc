"""Games as people see them: names of moves, boards in characters, pictures, records.

`session` is a game as it is being played; whoever plays and talks is in `jaxzero.terminal`,
`jaxzero.play` and `jaxzero.notebook`.
"""
