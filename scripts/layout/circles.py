"""Finds import circles: modules that import each other, directly or through others."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from scripts.layout.facts import Facts, Import

Graph = Mapping[str, set[str]]


def python_graph(files: Mapping[str, Facts]) -> dict[str, set[str]]:
    """Returns which of `files` each Python file imports.

    `from package import module` counts as an import of the module.
    """
    modules = {module_name(path): path for path in files}
    graph: dict[str, set[str]] = {}
    for path, facts in files.items():
        targets = (_python_target(one, modules) for one in facts.imports)
        graph[path] = {target for target in targets if target is not None and target != path}
    return graph


def typescript_graph(files: Mapping[str, Facts]) -> dict[str, set[str]]:
    """Returns which of `files` each TypeScript file imports by relative paths.

    Imports of types alone don't count.
    """
    graph: dict[str, set[str]] = {}
    for path, facts in files.items():
        targets = (_typescript_target(path, one.module, files) for one in facts.imports)
        graph[path] = {target for target in targets if target is not None and target != path}
    return graph


def module_name(path: str) -> str:
    """Returns `a.b` for `a/b.py` and for `a/b/__init__.py`."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circles(graph: Graph) -> list[list[str]]:
    """Returns the groups of at least two nodes that reach each other (Tarjan 1972), sorted."""
    return sorted(sorted(group) for group in _Components(graph).groups if len(group) > 1)


def _python_target(imported: Import, modules: Mapping[str, str]) -> str | None:
    if imported.name and (submodule := modules.get(f"{imported.module}.{imported.name}")):
        return submodule
    return modules.get(imported.module)


def _typescript_target(path: str, module: str, files: Iterable[str]) -> str | None:
    if not module.startswith("."):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), module.partition("?")[0]))
    stem = target.removesuffix(".js")
    for candidate in (target, f"{stem}.ts", f"{stem}.tsx", f"{stem}/index.ts"):
        if candidate in files:
            return candidate
    return None


class _Components:
    """Strongly connected components of a graph, found without recursion."""

    def __init__(self, graph: Graph) -> None:
        self.groups: list[list[str]] = []
        self._graph = graph
        self._number: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()
        for node in graph:
            if node not in self._number:
                self._search(node)

    def _search(self, root: str) -> None:
        work = [(root, iter(sorted(self._graph[root])))]
        self._enter(root)
        while work:
            node, targets = work[-1]
            target = next((one for one in targets if one not in self._number or one in self._is_open), None)
            if target is None:
                work.pop()
                self._leave(node)
                if work:
                    above = work[-1][0]
                    self._low[above] = min(self._low[above], self._low[node])
            elif target in self._number:
                self._low[node] = min(self._low[node], self._number[target])
            else:
                self._enter(target)
                work.append((target, iter(sorted(self._graph[target]))))

    def _enter(self, node: str) -> None:
        self._number[node] = self._low[node] = len(self._number)
        self._open.append(node)
        self._is_open.add(node)

    def _leave(self, node: str) -> None:
        if self._low[node] != self._number[node]:
            return
        group: list[str] = []
        while not group or group[-1] != node:
            group.append(self._open.pop())
            self._is_open.discard(group[-1])
        self.groups.append(group)
