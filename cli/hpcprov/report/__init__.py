"""`report.html` and `junit.xml` of a run: pure functions of its results, and the writing of the two files.

The charts are SVG from Jinja macros, with the geometry computed in `charts`. A chart library would cost more than it
brings: pygal and matplotlib draw in fixed pixels and colours of their own, which a page that must fit a phone, paper,
light and dark would have to undo. Here coordinates are percentages, colours are the page's CSS variables, and bars and
one line are all that is drawn. There is no script in the page, and its content security policy allows none.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hpcprov.errors import UsageError
from hpcprov.paths import site_home
from hpcprov.report import junit
from hpcprov.report.page import JOURNAL_LINES, clipped, page
from hpcprov.results import Result
from hpcprov.rundir import write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT = "report.html"
RESULT = "result.json"
JUNIT = "junit.xml"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hpcprov.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clipped"] = clipped
    environment.globals["journal_lines"] = JOURNAL_LINES
    return environment


def render(result: Result) -> str:
    """The page as HTML. What no UTF-8 can hold (bytes of a broken locale) becomes a question mark."""
    text = _environment().get_template("report.html.j2").render(page=page(result))
    return text.encode("utf-8", "replace").decode("utf-8")


def find(place: Path) -> Path:
    """The directory of a run: `place` itself, or the latest run of the site file `place`. Raises UsageError."""
    inside = place.name in (RESULT, REPORT, JUNIT)
    folder = place if place.is_dir() else place.parent if inside else site_home(place) / "runs" / "latest"
    folder = folder.resolve()
    if not (folder / RESULT).is_file():
        hint = "name the directory of a run, such as runs/latest, or a site file that was deployed from here"
        raise UsageError(f"there is no run in {folder}", why=f"it holds no {RESULT}", hint=hint)
    return folder


def read(folder: Path) -> Result:
    """The results of a run. Raises UsageError where result.json is none of ours, or of another version."""
    from pydantic import ValidationError

    path = folder / RESULT
    try:
        return Result.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        why = f"{where}: {first['msg']}" if where else first["msg"]
        raise UsageError(f"{path} is no result of hpcprov, or of another version", why=why) from None


def write(result: Result, folder: Path) -> Path:
    """Write both files into the run's directory and return the page. Raises OSError."""
    write_atomically(folder / REPORT, render(result))
    write_atomically(folder / JUNIT, junit.document(result, folder / JUNIT))
    return folder / REPORT
