"""Writes expect.yaml of every case anew; look at the difference before you commit it."""

from __future__ import annotations

from test_import_cases import CASES, imported

for folder in CASES:
    (folder / "expect.yaml").write_text(imported(folder).text.replace(f"{folder}/", ""))
