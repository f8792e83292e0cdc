"""Games between players: the arena, round robins, ladders, matches that stop early, UCI engines."""
