"""The formats of machines: the .pdrm text, JSON, and the formats of other programs.

`loading` is the door: `load`, `parse`, `save` and the catalogue. Each reader makes a `document` (header lines and rules with the
place of every word), from which a machine is built: `reader` for .pdrm text (on `source`, lines and tokens within limits), `json_form` for JSON, `peer_formats` for reward machines as Toro Icarte et al. write them and for
automata-lib's pushdown automata. `writer` makes .pdrm text again and lays it out. Reading runs no code.

A task can also be written as a set of words (`task_text`: what such texts have in common): the folder `grammars` makes a pushdown machine
of a context-free grammar, the folder `logic` a reward machine (a pushdown machine that leaves its stack alone) of a regular expression or a temporal formula. `combining` runs several machines as one.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
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
    # Tasks as sets of words
    "from_grammar",
    "from_regex",
    "from_ltlf",
    "PATTERNS",
    # Several tasks as one
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
