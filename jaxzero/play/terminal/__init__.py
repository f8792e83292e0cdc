"""A person at the terminal: commands, boards in characters, whoever plays and comments."""
