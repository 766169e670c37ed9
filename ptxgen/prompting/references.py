"""The library of reference kernels: correct, tested, in the form that generated kernels have; and which to show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ptxgen.prompting.features import features, similarity, weight
from ptxgen.prompting.oracle import normal_form
from ptxgen.spec import Spec, load_spec

FOLDER = Path(__file__).parent / "references"
#: How much it counts, beside its similarity, that a further reference shows what no earlier one does.
_NEWS = 0.5
#: Less alike than this, a further reference distracts more than it shows.
_LEAST = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A spec and a kernel that fulfils it."""

    spec: Spec
    ptx: str
    features: frozenset[str]
    oracle: str

    @property
    def name(self) -> str:
        return self.spec.kernel.name


@cache
def all_references() -> tuple[Reference, ...]:
    """The whole library, by name. Raises SpecError for a reference whose spec does not load."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        spec = load_spec(path)
        ptx = path.with_suffix(".ptx").read_text(encoding="utf-8")
        found.append(Reference(spec, ptx, features(spec), normal_form(spec)))
    return tuple(found)


def same_task(spec: Spec, reference: Reference) -> bool:
    """Whether the reference would give the answer away: the same name, or the same oracle over the same types."""
    return spec.kernel.name == reference.name or normal_form(spec) == reference.oracle


def nearest_references(spec: Spec, count: int) -> tuple[Reference, ...]:
    """The references to show for a spec, nearest first; never the same task.

    The first is the most similar. Each further one is chosen by its similarity plus half the share of the spec's
    features that it shows and no earlier choice does; one that is less alike than 0.3 is not shown. Ties go to the
    first name in alphabetical order.
    """
    wanted = features(spec)
    alike = {r: similarity(wanted, r.features) for r in all_references() if not same_task(spec, r)}
    chosen: list[Reference] = []
    missing = wanted
    while len(chosen) < count:
        rest = [r for r in alike if r not in chosen and (not chosen or alike[r] >= _LEAST)]
        if not rest:
            break
        if chosen:
            total = weight(wanted) or 1.0
            gains = {r: alike[r] + _NEWS * weight(missing & r.features) / total for r in rest}
        else:
            gains = alike
        best = max(rest, key=gains.__getitem__)
        chosen.append(best)
        missing = missing - best.features
    return tuple(chosen)
