"""Who is how strong: tournaments, fixed opponents, exact solutions."""
