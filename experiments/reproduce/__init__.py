"""A paper from one command: what it has, the plan, its parts run one by one, one page."""
