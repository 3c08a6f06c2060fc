# SPDX-License-Identifier: Apache-2.0
"""`python3 dev.py soak [--kind pipelines|cameras|ring|live] [--seconds N] [--seed N]`."""

from __future__ import annotations

import argparse


def main() -> None:
    """Run the kind that was asked for."""
    parser = argparse.ArgumentParser(prog="dev.py soak", add_help=False)
    parser.add_argument(
        "--kind", choices=("pipelines", "cameras", "ring", "live"), default="pipelines"
    )
    chosen, rest = parser.parse_known_args()
    if chosen.kind == "cameras":
        from .cameras import main as cameras

        cameras(rest)
    elif chosen.kind == "live":
        from .live import main as live

        live(rest)
    elif chosen.kind == "ring":
        from .rings import main as rings

        rings(rest)
    else:
        from .pipelines import main as pipelines

        pipelines(rest)


if __name__ == "__main__":
    main()
