"""Rows of unit length, and hashed ones for texts that have no direction."""

import hashlib
from collections.abc import Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def hashed_vectors(texts: Sequence[str], width: int) -> FloatArray:
    """Unit vectors that know only whether two texts are the same.

    The bytes come from a hash and not from a random generator, whose streams may
    change with the version of numpy.

    texts (Sequence[str]): The texts.
    width (int): Length of a vector.
    RETURNS (FloatArray): One row per text.
    """
    rows = np.empty((len(texts), width), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        digest = hashlib.shake_256(text.encode("utf8", "surrogatepass"))
        # Uniform around 0 and never 0, so that no vector is without a direction.
        row[:] = np.frombuffer(digest.digest(2 * width), dtype="<u2")
        row -= 32767.5
    return unit(rows)


def unit(rows: FloatArray, texts: Optional[Sequence[str]] = None) -> FloatArray:
    """Scale rows to unit length; those without a direction get a hashed one.

    rows (FloatArray): One row per text; rows without a direction are written to.
    texts (Optional[Sequence[str]]): The texts. None says that each row has a direction.
    RETURNS (FloatArray): The unit vectors.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    if texts is not None:
        empty = np.flatnonzero(norms[:, 0] < 1e-6)
        if len(empty):
            rows[empty] = hashed_vectors([texts[int(i)] for i in empty], rows.shape[1])
            norms[empty] = 1.0
    return np.asarray(rows / norms, dtype=np.float32)
