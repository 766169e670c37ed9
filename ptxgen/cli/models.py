"""`ptxgen-local models`: which models are on this machine; `models fetch NAME` gets one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ptxgen.cli.output import data, print_json, talk
from ptxgen.models import CATALOGUE, DEFAULT_MODEL, FoundModel, ModelError, fetch, find_model, known_models
from ptxgen.models.fetch import Progress

_JSON = typer.Option(False, "--json", help="Print one JSON document.")


def register(app: typer.Typer) -> None:
    group = typer.Typer(rich_markup_mode=None)

    @group.callback(invoke_without_command=True)
    def models(context: typer.Context, json: bool = _JSON) -> None:
        """List the models on this machine, or fetch one."""
        if context.invoked_subcommand is None:
            _list(json)

    @group.command("fetch")
    def fetch_one(
        name: str = typer.Argument(DEFAULT_MODEL, help=f"One of {', '.join(CATALOGUE)}."), json: bool = _JSON
    ) -> None:
        """Fetch a model into the cache; an interrupted fetch is resumed."""
        with _bar(name) as progress:
            path = fetch(name, progress)
        if json:
            print_json({"name": name, "path": path})
        else:
            talk.print(f"{name} is there:")
            data.print(str(path))

    app.add_typer(group, name="models")


def _list(json: bool) -> None:
    found = known_models()
    fetched = {model.path.name for model in found}
    absent = [model for model in CATALOGUE.values() if model.filename not in fetched]
    default = _default()
    if json:
        print_json(
            {
                "default": default,
                "models": [
                    {"name": model.name, "path": model.path, "size": model.size, "origin": model.origin}
                    for model in found
                ],
                "fetchable": [
                    {
                        "name": model.name, "size": model.size, "licence": model.licence,
                        "summary": model.summary, "fetched": model.filename in fetched,
                    }
                    for model in CATALOGUE.values()
                ],
            }
        )  # fmt: skip
        return
    width = max(len(name) for name in ("random", *(model.name for model in found)))
    for model in found:
        mark = "*" if default == str(model.path) else " "
        data.print(f"{mark} {model.name:<{width}}  {_size(model)}  {model.origin}  {model.path}")
    data.print(f"  {'random':<{width}}         none  no file: random logits, for tests")
    if default:
        talk.print("\n* is used where no model is named")
    for downloadable in absent:
        talk.print(
            f"not here: {downloadable.summary} ({downloadable.size / 1e6:,.0f} MB, {downloadable.licence}): "
            f"ptxgen-local models fetch {downloadable.name}"
        )


def _default() -> str | None:
    """What a command without `--model` would use; None where it would fail."""
    try:
        return str(find_model())
    except ModelError:
        return None


def _size(model: FoundModel) -> str:
    return f"{model.size / 1e6:>8,.0f} MB"


@contextmanager
def _bar(name: str) -> Iterator[Progress]:
    """A progress bar on a terminal, a line every tenth elsewhere; both on stderr."""
    if not talk.is_terminal:
        yield _tenths(name)
        return
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar("{task.description}", *columns, console=talk) as bar:
        task = bar.add_task(name, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show


def _tenths(name: str) -> Progress:
    told = -1

    def show(done: int, total: int) -> None:
        nonlocal told
        tenth = done * 10 // total
        if tenth > told:
            told = tenth
            talk.print(f"{name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")

    return show
