"""A backend of hypothesis whose draws depend on the seed alone.

The usual one mixes in constants that it finds in the sources of this project, so that any edit would draw new examples,
and a run of one file others than a run of all.
"""

from __future__ import annotations

from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

STABLE = "stable"


class StableProvider(HypothesisProvider):
    """Draws without constants."""

    def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
        return None


AVAILABLE_PROVIDERS[STABLE] = f"{__name__}.StableProvider"
