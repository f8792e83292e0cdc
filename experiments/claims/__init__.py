"""Do the papers' claims hold? Statistics, decisions, their table and figure."""
