"""`python -m jaxzero.play`: see `jaxzero.play.command`."""

from jaxzero.play.command import start

if __name__ == "__main__":
    start()
