"""Trees of arrays in files: `.npz`, leaf by leaf, never code; read back into a tree of the same shape."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadPolicyFile
from pdrm.files.arrays import arrays_in

Tree = TypeVar("Tree")


def tree_bytes(tree: Any) -> bytes:
    """The leaves of a tree, named by their place in it."""
    buffer = io.BytesIO()
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    np.savez(buffer, **{jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves})  # type: ignore[arg-type]
    return buffer.getvalue()


def tree_from(path: Path, like: Tree) -> Tree:
    """The tree in a file; `like` says its shape, and a file that does not fit is refused."""
    try:
        arrays = arrays_in(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BadPolicyFile(f"{path} cannot be read: {error}", fix="train again, or restore a copy") from error

    def leaf(place: Any, old: Any) -> jax.Array:
        found = arrays.get(jax.tree_util.keystr(place))
        if found is None or found.shape != jnp.shape(old) or found.dtype != old.dtype:
            raise BadPolicyFile(f"{path} does not fit: {jax.tree_util.keystr(place)} differs", fix="train again")
        return jnp.asarray(found)

    restored: Tree = jax.tree_util.tree_map_with_path(leaf, like)
    return restored
