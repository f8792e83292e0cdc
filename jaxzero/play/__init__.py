"""Playing and looking: in the terminal, in a notebook, as pictures and records of games."""
