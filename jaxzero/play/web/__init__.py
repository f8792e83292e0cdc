"""A page to play on, served to this machine alone: `python -m jaxzero.play --web`."""
