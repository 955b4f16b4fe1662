"""The command line ``hearts``."""

import signal


def main() -> None:
    """Run the command line.

    While it loads and after it ends, Ctrl-C ends the process at once, as SIGTERM and SIGHUP do.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hearts_train.cli.app import app  # slow to import

    app()
