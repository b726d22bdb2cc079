"""Training and test data of the example model: scikit-learn's 8x8 handwriting, its split and preprocessing.

`demo-site/ink.js` does to a drawing what the makers of the data did to handwriting, and then what `preprocess` does.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SIDE = 32
SPLIT = {"test_size": 0.25, "random_state": 20240, "stratify": "label"}

Images = NDArray[np.float32]
Labels = NDArray[np.int64]


def load_split() -> tuple[Images, Labels, Images, Labels]:
    """Training images and labels, held-out images and labels: images N x 8 x 8, whole numbers 0 (paper) to 16 (ink)."""
    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.images.astype(np.float32),
        digits.target.astype(np.int64),
        test_size=SPLIT["test_size"],
        random_state=SPLIT["random_state"],
        stratify=digits.target,
    )
    return train_x, train_y, test_x, test_y


def enlarge_matrix(source: int = 8, target: int = SIDE) -> Images:
    """The target x source matrix of linear interpolation between cell centres, clamped at the border."""
    centres = (np.arange(target) + 0.5) * source / target - 0.5
    distance = np.abs(np.clip(centres, 0, source - 1)[:, None] - np.arange(source)[None, :])
    return np.maximum(0, 1 - distance).astype(np.float32)


def preprocess(images: Images) -> Images:
    """N x 8 x 8 in 0..16 -> the model's input, N x 1 x 32 x 32 in 0..1, in steps of 1/255."""
    matrix = enlarge_matrix()
    enlarged = matrix @ (images.astype(np.float32) / 16) @ matrix.T
    return (np.round(enlarged * 255) / 255).astype(np.float32)[:, None]
