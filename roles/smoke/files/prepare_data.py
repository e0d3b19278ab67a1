#!/usr/bin/env python3
"""Make the smoke test's data once, before any rank starts: scikit-learn's digits at 28x28, split with a fixed seed.

The 1,797 real handwritten digits ship inside the scikit-learn wheel, so no network is needed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

SIDE = 28
TEST_SHARE = 0.2


def make(path: Path, seed: int) -> None:
    """Write the arrays beside their final name and rename: no reader ever sees half a file."""
    import numpy as np
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    scale = SIDE / digits.images.shape[1]
    images = zoom(digits.images.astype(np.float32) / 16.0, (1, scale, scale), order=1)[:, None]
    parts = train_test_split(
        images, digits.target.astype(np.int64), test_size=TEST_SHARE, random_state=seed, stratify=digits.target
    )
    names = ("train_images", "test_images", "train_labels", "test_labels")
    draft = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    np.savez(draft, **dict(zip(names, parts, strict=True)))
    draft.chmod(0o644)
    draft.replace(path)
    print(f"{path}: {len(parts[0])} images to train with, {len(parts[1])} to test with")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=1797)
    options = parser.parse_args()
    make(options.path, options.seed)


if __name__ == "__main__":
    main()
