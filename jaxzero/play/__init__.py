"""Playing and looking: in the terminal, in the browser, in a notebook, as pictures and records."""
