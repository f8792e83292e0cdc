"""The page: its answers, and the page itself in a browser."""
