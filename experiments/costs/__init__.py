"""What runs cost: the papers' cost function, measured seconds of units of work, strength for it."""
