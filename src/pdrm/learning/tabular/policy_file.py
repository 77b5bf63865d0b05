"""Reading the files of tabular policies, which `TabularPolicy.save` wrote."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pdrm.errors import BadPolicyFile, PdrmError, check_policy_files
from pdrm.files import (
    MALFORMED,
    Arrays,
    describe_fault,
    need,
    parse_record,
    read_arrays,
    read_bytes,
)
from pdrm.language.loading import parse
from pdrm.learning.tabular.hierarchical import TOP, options_of
from pdrm.learning.tabular.policy import (
    STANDS_IN,
    VERSION,
    HierarchicalPolicy,
    QPolicy,
    TabularPolicy,
    option_texts,
)
from pdrm.learning.tabular.policy_table import read_rows
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.product.views import FullStack, view_of


def load_table(path: str | Path) -> TabularPolicy:
    """The policy of any tabular agent in a `.npz` file and its `.json`."""
    file = Path(path)
    check_policy_files(file)
    try:
        description = parse_record(read_bytes(file.with_suffix(".json")))
        data = file.read_bytes()
        fits = hashlib.sha256(data).hexdigest() == description["sha256"]
        need(
            (fits, "it does not match the fingerprint in its .json file"),
            (description.get("pdrm_policy") == VERSION, f"it is not of version {VERSION}"),
            (isinstance(description["about"], dict), "its description is damaged"),
        )
        arrays = read_arrays(data)
        if description["kind"] == "summary":
            from pdrm.learning.tabular.summary_policy import read_summary_policy

            return read_summary_policy(arrays, description)
        return _read_table(arrays, description)
    except PdrmError:
        raise
    except MALFORMED as error:
        fix = "restore a copy of it, or remove the run's folder and train again"
        fault = f"{file} is not a policy, or is damaged: {describe_fault(error)}"
        raise BadPolicyFile(fault, fix=fix) from error


def _read_table(arrays: Arrays, description: dict[str, Any]) -> QPolicy:
    text, seen, kind = (str(description[name]) for name in ("machine", "view", "kind"))
    actions = tuple(map(str, description["actions"]))
    shared = description["about"], text, actions
    machine, view = parse(text), view_of(seen if seen == "full" else int(seen))
    if isinstance(machine, CountingRewardAutomaton):
        need((kind == "counters" and view == FullStack(), "it is not a policy over counters"))
        states = (*machine.states, *machine.final)
        return QPolicy(*shared, read_rows(arrays, "", view, states, machine.counters, len(actions)))
    states, symbols = (*machine.states, *machine.final), machine.stack
    if kind == "stack":
        return QPolicy(*shared, read_rows(arrays, "", view, states, symbols, len(actions)))
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    fits = tuple(options) == machine.states and all(
        texts in (option_texts(options_of(machine, state)), STANDS_IN)
        for state, texts in options.items()
    )
    need((fits, "its options are not those of its machine"))
    most = max(map(len, options.values()))
    meta = read_rows(arrays, "meta.", view, states, symbols, most)
    within = read_rows(arrays, "within.", TOP, states, symbols, most * len(actions))
    return HierarchicalPolicy(*shared, meta, options, within)
