"""Choosing a token among the allowed ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Sampler:
    """Temperature and nucleus (top-p) sampling with a seeded generator; temperature 0 is greedy."""

    def __init__(self, temperature: float, top_p: float, seed: int) -> None:
        self.temperature = temperature
        self.top_p = top_p
        self._generator = np.random.default_rng(seed)

    def choose(self, logits: npt.NDArray[np.float32], ids: npt.NDArray[np.int64] | None) -> int:
        """One of `ids` (None: any) by its logit among them. Ties go to the lowest id when greedy."""
        scores = (logits if ids is None else logits[ids]).astype(np.float64)
        if self.temperature <= 0:
            position = int(np.argmax(scores))
            return position if ids is None else int(ids[position])
        with np.errstate(over="ignore"):    # at a tiny temperature what is not the best is infinitely worse
            scores = (scores - scores.max()) / self.temperature
        weights = np.exp(scores)
        weights /= weights.sum()
        if self.top_p < 1:
            order = np.argsort(-weights, kind="stable")
            ahead = np.cumsum(weights[order]) - weights[order]
            order = order[: max(1, int(np.count_nonzero(ahead < self.top_p)))]
            position = int(order[self._draw(weights[order])])
        else:
            position = self._draw(weights)
        return position if ids is None else int(ids[position])

    def rank(
        self, logits: npt.NDArray[np.float32], ids: npt.NDArray[np.int64], most: int, worthwhile: float
    ) -> list[tuple[int, float]]:
        """At most `most` of `ids`, each with its cost, cheapest first: the negative log of its probability among
        *all* tokens, disturbed by Gumbel noise of the temperature's scale. Beside the first one only those
        that the model gives a share of at least `worthwhile`."""
        top = float(logits.max())
        total = top + float(np.log(np.exp(logits - np.float32(top)).sum(dtype=np.float64)))
        costs = total - logits[ids].astype(np.float64)
        disturbed = costs
        if self.temperature > 0:
            disturbed = costs - self.temperature * self._generator.gumbel(size=len(ids))
            if self.top_p < 1:
                disturbed[~self._nucleus(costs)] = np.inf
        order = np.argsort(disturbed, kind="stable")[:most]
        limit = -np.log(worthwhile)
        return [(int(ids[i]), float(disturbed[i])) for n, i in enumerate(order) if n == 0 or costs[i] <= limit]

    def _nucleus(self, costs: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which of the choices make up `top_p` of what the model gives to all of them."""
        weights = np.exp(costs.min() - costs)
        order = np.argsort(-weights, kind="stable")
        ahead = np.cumsum(weights[order]) - weights[order]
        kept = np.zeros(len(costs), dtype=np.bool_)
        kept[order[: max(1, int(np.count_nonzero(ahead < self.top_p * weights.sum())))]] = True
        return kept

    def _draw(self, weights: npt.NDArray[np.float64]) -> int:
        cumulated = np.cumsum(weights)
        point = self._generator.random() * cumulated[-1]
        return int(min(np.searchsorted(cumulated, point, side="right"), len(weights) - 1))
