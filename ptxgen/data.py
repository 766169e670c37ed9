"""Where the shipped data lies: in the wheel under `ptxgen/_data`, in a checkout at the top level."""

from __future__ import annotations

from pathlib import Path


def data_folder(name: str) -> Path:
    """The folder `grammar` or `isa`, from the installed wheel or the checkout.

    Raises FileNotFoundError when the installation is damaged.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "_data" / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the data folder {name!r} is missing from this installation; reinstall ptxgen-local")
