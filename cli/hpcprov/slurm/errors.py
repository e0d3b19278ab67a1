"""What is wrong with the facts or settings that Slurm's files are made from."""

from __future__ import annotations

from collections.abc import Sequence


class SlurmConfigError(ValueError):
    """A configuration that Slurm would refuse or misread. `problems` are sentences an admin can act on."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)
