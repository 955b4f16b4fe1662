"""``python -m hearts_train.cli`` is ``hearts``."""

from hearts_train.cli.app import main

if __name__ == "__main__":
    main()
