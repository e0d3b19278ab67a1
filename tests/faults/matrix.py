"""The matrix of faults as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fault import Row

HEADINGS = (
    "fault", "host", "command", "exit", "host named", "cause named", "verdict", "repaired by", "green", "in all",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """One line."""
    return (
        row.fault.name,
        row.fault.host,
        row.fault.command[0],
        "-" if row.exit_code is None else str(row.exit_code),
        yes(row.named_host),
        yes(row.named_cause),
        f"{row.verdict_seconds:.1f} s",
        row.repaired_by or "-",
        yes(row.green),
        f"{row.seconds:.1f} s",
    )


def yes(value: bool) -> str:
    """A word that is seen."""
    return "yes" if value else "NO"


def print_matrix(rows: Iterable[Row], total: int, seconds: float, write: Callable[[str], None]) -> None:
    """The table, and how many faults passed."""
    made = list(rows)
    table = [HEADINGS, *map(cells, made)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    write("")
    for number, line in enumerate(table):
        write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            write("  ".join("-" * width for width in widths))
    for row in made:
        if row.error:
            write(f"{row.fault.name}: {row.error.splitlines()[0]}")
    passed = sum(row.passed for row in made)
    write(f"{passed} of {total} faults named with host and cause, and green again; {seconds / 60:.1f} minutes in all")
