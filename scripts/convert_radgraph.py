"""Turn annotated reports of RadGraph or RadGraph-XL into a `.spacy` file.

python scripts/convert_radgraph.py radgraph.json corpus.spacy --split dev
python -m spacy evaluate PIPELINE corpus.spacy --spans-key clinical_entities
"""

import argparse
import sys
from pathlib import Path

import spacy
from spacy.tokens import DocBin

from spacy_mcse.readers.corpora import RadGraphCorpus
from spacy_mcse.readers.radgraph import LABELER

TOKENIZER = {"@tokenizers": "spacy-mcse.ReportTokenizer.v1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path, help="RadGraph's .json or -XL's .jsonl")
    parser.add_argument("output", type=Path, help="the .spacy file to write")
    parser.add_argument("--split", help="part of the data to take (default: all)")
    parser.add_argument(
        "--labeler",
        default=LABELER,
        help=f"whose annotation to take where there are several (default: {LABELER})",
    )
    parser.add_argument(
        "--all-observations",
        action="store_true",
        help="keep devices and words of normality among the clinical entities",
    )
    args = parser.parse_args()
    if args.output.suffix != ".spacy":
        parser.error(f"{args.output} must end in .spacy: spaCy reads no other corpus")
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": TOKENIZER}})
    try:
        corpus = RadGraphCorpus(
            args.input, args.split, args.labeler, not args.all_observations
        )
        docs = DocBin(docs=corpus.docs(nlp))
        args.output.parent.mkdir(parents=True, exist_ok=True)
        docs.to_disk(args.output)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(docs)} reports in {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
