"""Entry point of `ptxgen-local` and of `python -m ptxgen`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly also while it is being loaded, some tenths of a second."""
    try:
        from ptxgen.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
