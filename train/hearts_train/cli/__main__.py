"""``python -m hearts_train.cli`` is ``hearts``."""

from hearts_train.cli import main

if __name__ == "__main__":
    main()
