"""Games with people: who plays, what they think, what is asked and what is printed."""
