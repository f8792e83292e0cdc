"""Lists what can be called: `python -m jaxzero`."""

TEXT = """\
python -m jaxzero.play     play against a player, watch two, look at recorded games
python -m jaxzero.doctor   what this machine has, and whether it works
python -m experiments      lists the studies and all other commands

Each has --help but the last. Documentation: README.md, docs/index.md."""


def main() -> None:
    print(TEXT)


if __name__ == "__main__":
    main()
