"""Ways to a product state in words: the labels read, and the actions taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.domains.labelled_mdp import NO_LABEL
from pdrm.errors import UndefinedMove
from pdrm.machines.kernels import step
from pdrm.machines.runs import UNDEFINED

if TYPE_CHECKING:
    from pdrm.product.finite.product import FiniteProduct


def word_to(product: FiniteProduct, x: int) -> str:
    """The labels of a shortest way to a state, as `pdrm step` reads them.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> from pdrm.product.finite.product import FiniteProduct
    >>> product = FiniteProduct(domain("maze-5x5"), catalogue("treasure-maze"))
    >>> product.explore(depth=2)
    >>> word_to(product, 5), actions_to(product, 5)
    ('u u', ('u', 'u'))
    """
    arrays, labels = product.domain.arrays, product.domain.labels
    start, steps = product.path(x)
    read = [] if arrays.start_label[start] == NO_LABEL else [labels[arrays.start_label[start]]]
    s = int(arrays.start_state[start])
    for action, outcome in steps:
        read.append(labels[arrays.label[s, action, outcome]])
        s = int(arrays.next[s, action, outcome])
    return " ".join("+".join(sorted(label)) or "-" for label in read)


def actions_to(product: FiniteProduct, x: int) -> tuple[str, ...]:
    """The actions of a shortest way to a state."""
    return tuple(product.domain.actions[action] for action, _ in product.path(x)[1])


def undefined_move(product: FiniteProduct, x: int) -> UndefinedMove:
    """The error that says which word the machine has no move for, from a state with such a step."""
    arrays, s = product.domain.arrays, int(product.states.place[x])
    word = word_to(product, x)
    for label in dict.fromkeys(arrays.label[s][arrays.probability[s] > 0].tolist()):
        status = step(product.table, product.stacks, product.states.state[x], product.states.node[x], label)[3]
        if status == UNDEFINED:
            word = f"{word} {'+'.join(sorted(product.domain.labels[label])) or '-'}".strip()
            break
    return UndefinedMove(
        f"the machine `{product.machine.name}` has no move at the end of `{word}`",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R`",
    )
