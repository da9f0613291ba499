"""Callbacks for the config of a pipeline."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .errors import Errors

# What to install for modules whose distribution has another name.
_INSTALLS = {"negspacy": "negspacy", "scispacy": '"spacy-mcse[scispacy]"'}


class ImportModules:
    """Import modules, so that the factories which they register are known.

    modules (Sequence[str]): Names of the modules.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = tuple(modules)

    def __call__(self, lang_cls: Any) -> Any:
        """Import the modules. RETURNS (Any): What was given.

        RAISES (ImportError): E110 for a module that is not installed.
        """
        for module in self.modules:
            try:
                import_module(module)
            except ModuleNotFoundError as error:
                top = module.partition(".")[0]
                if error.name not in (module, top):
                    raise
                command = f"pip install {_INSTALLS.get(top, top)}"
                raise ImportError(
                    Errors.E110.format(module=module, command=command)
                ) from error
        return lang_cls


def make_import_modules(modules: list[str]) -> ImportModules:
    """Make the callback `spacy-mcse.ImportModules.v1` for `[nlp.before_creation]`.

    Packages such as negspaCy and scispaCy register their components when they are
    imported, and have no entry points: without this callback neither `spacy assemble`
    nor `spacy.load` in a fresh process finds `negex`. Nor does `spacy package` see that
    a wheel requires them: add them to the requirements in meta.json.

    modules (list[str]): Modules to import: ["negspacy.negation"].
    RETURNS (ImportModules): The callback.
    """
    return ImportModules(modules)
