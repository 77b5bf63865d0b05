"""The formats of machines, and tasks that are defined by words.

`loading` is the entry point: `load`, `parse`, `save` and the catalogue. A reader fills a `document`
(header lines and rules, with the position of every word), from which a machine is built. Reading
runs no code.

- `source`: lines and tokens within limits. `reader`: .pdrm text. `writer`: .pdrm text of a machine.
- `json_form`: JSON.
- `peer_formats`: reward machines of Toro Icarte et al., and DPDAs of automata-lib.

A task can also be a set of words:

- `task_text`: the header of such texts.
- `grammars` (folder): pushdown machines from context-free grammars.
- `logic` (folder): reward machines from regular expressions and temporal formulas.
- `draft`: their common intermediate form.

`combining` runs several machines as one. The public names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.language.combining import combine
    from pdrm.language.document import AnyMachine
    from pdrm.language.grammars.grammar_machine import from_grammar
    from pdrm.language.json_form import to_json
    from pdrm.language.loading import (
        catalogue,
        catalogue_names,
        catalogue_summary,
        catalogue_text,
        load,
        parse,
        save,
    )
    from pdrm.language.logic.regular_expressions import from_regex
    from pdrm.language.logic.temporal_formulas import PATTERNS
    from pdrm.language.logic.temporal_logic import from_ltlf
    from pdrm.language.writer import lay_out, to_text
    from pdrm.machines.guards import parse_word

__all__ = [
    # Files and texts
    "load",
    "parse",
    "save",
    "to_text",
    "to_json",
    "lay_out",
    "AnyMachine",
    # Tasks defined by words
    "from_grammar",
    "from_regex",
    "from_ltlf",
    "PATTERNS",
    # Combinations of tasks
    "combine",
    # Words
    "parse_word",
    # The catalogue
    "catalogue",
    "catalogue_names",
    "catalogue_summary",
    "catalogue_text",
]

__getattr__, __dir__ = lazy(__name__)
