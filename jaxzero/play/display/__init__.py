"""Games as people see them: names of moves, boards in characters, pictures, records."""
