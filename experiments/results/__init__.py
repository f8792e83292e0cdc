"""Recorded runs: their data in docs/results/data, and the page that is made of it."""
