"""Word lists of the user's own, kept with the component that uses them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Optional, Union

import srsly
from spacy.pipeline import Pipe

from .errors import Errors
from .vocabulary import COLUMNS, Vocabulary, load_vocabulary

_ENDING = ".tsv"


class ListsPipe(Pipe):
    """A component that reads the word lists and saves the ones that are not packaged.

    name (str): Name in the pipeline.
    lexicons (Optional[Mapping[str, str]]): Paths by the name of the packaged list that
        they replace; read at first use, or brought by `from_disk` / `from_bytes`.
    fix_spelling (bool): Read misspelt long words as the words of the lists.
    RAISES (ValueError): E105 for a list that the package does not have.
    """

    def __init__(
        self, name: str, lexicons: Optional[Mapping[str, str]], fix_spelling: bool
    ) -> None:
        unknown = sorted(set(lexicons or {}) - set(COLUMNS))
        if unknown:
            raise ValueError(
                Errors.E105.format(
                    argument="lexicons",
                    component=name,
                    got=f"a list named {unknown[0]!r}",
                    allowed=", ".join(sorted(COLUMNS)),
                )
            )
        self.name = name
        self._fix_spelling = fix_spelling
        self._paths = dict(lexicons or {})
        self._texts: dict[str, str] = {}
        self._vocabulary: Optional[Vocabulary] = None

    @property
    def vocabulary(self) -> Vocabulary:
        """The packaged lists with the user's own in their places."""
        if self._vocabulary is None:
            self._vocabulary = load_vocabulary(self._own_lists(), self._fix_spelling)
        return self._vocabulary

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save the lists that are not packaged; a folder with a file for each."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        for name, text in self._own_lists().items():
            (path / f"{name}{_ENDING}").write_text(text, "utf8")

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "ListsPipe":
        """Read the lists that `to_disk` saved; they win over paths of the config."""
        files = sorted(Path(path).glob(f"*{_ENDING}"))
        self._texts = {file.stem: file.read_text("utf8") for file in files}
        self._vocabulary = None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The same as `to_disk`, as bytes."""
        return srsly.msgpack_dumps(self._own_lists())

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "ListsPipe":
        """The same as `from_disk`, from bytes."""
        self._texts = dict(srsly.msgpack_loads(data))
        self._vocabulary = None
        return self

    def _own_lists(self) -> dict[str, str]:
        for name, path in self._paths.items():
            if name not in self._texts:
                self._texts[name] = _read_list(name, path)
        return self._texts


def _read_list(name: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        kind = OSError if isinstance(error, OSError) else ValueError
        problem = getattr(error, "strerror", None) or "it is not UTF-8"
        raise kind(Errors.E107.format(name=name, path=path, problem=problem)) from None
