"""Drops IdentityN, which copies several tensors at once; gradients of custom functions bring it in."""

from __future__ import annotations

from converter.graph.graph_view import View


def drop_identity_lists(view: View) -> None:
    """Lets every reader of an output of IdentityN read the input of the same index."""
    for node in view.all("IdentityN"):
        for tensor, source in zip(view.tensors(node), list(node.input), strict=True):
            if view.users(tensor):
                view.replace(tensor, source)
