"""Matches with a purpose, out of `arena`'s games.

The gate, a match that stops when it has told enough (by Wilson's interval), everyone against
everyone, newcomers against anchors.
"""
