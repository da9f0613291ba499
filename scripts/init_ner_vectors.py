"""Write the word vectors of this package as a spaCy pipeline, to train with.

What it writes goes into a training config as `paths.vectors`. Only whole words are
taken, not the pieces, and each at length 1: their lengths are weights of an encoder.
"""

import argparse
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import spacy
from spacy.vectors import Vectors

from spacy_mcse.static_encoder import StaticWeights

PIECE = "##"
PACKAGED = "static_cxr.npz"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder to write")
    args = parser.parse_args()
    data = (files("spacy_mcse") / "vectors" / PACKAGED).read_bytes()
    weights = StaticWeights.read(data, PACKAGED)
    words = [word for word in weights.words if word and not word.startswith(PIECE)]
    rows = weights.vectors[[weights.words[word] for word in words]]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = (rows / np.maximum(lengths, 1e-8)).astype("float32")
    nlp = spacy.blank("en")
    vectors = Vectors(strings=nlp.vocab.strings, data=rows, name=weights.name)
    # spaCy saves no other attribute to look words up by than the text as written.
    for row, word in enumerate(words):
        for written in (word, word.capitalize(), word.upper()):
            vectors.add(nlp.vocab.strings.add(written), row=row)
    nlp.vocab.vectors = vectors
    nlp.to_disk(args.output)
    print(f"{len(words)} words, {rows.shape[1]} numbers each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
