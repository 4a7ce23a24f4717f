"""`python -m pliant`: the command line, where the `pliant` command is not on the path."""

from pliant.cli import main

if __name__ == "__main__":
    main()
