"""Finds out how this machine's Node.js runs relaxed SIMD: by itself, behind a flag, or not at all."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from backend.peer.exact.node_runtime import find_node

# Node.js 20 knows the instructions behind a flag, later ones without it, and older ones do not know them.
FLAGS: tuple[tuple[str, ...], ...] = ((), ("--experimental-wasm-relaxed-simd",))
# A function with one `f32x4.relaxed_madd`, as in webapp/static/src/engine/wasm/simd/kernel-module.ts.
_PROBE = bytes.fromhex("0061736d010000000105016000017b030201000a130111004100fd0f4100fd0f4100fd0ffd85020b")
_SCRIPT = f"process.exit(WebAssembly.validate(Uint8Array.of({', '.join(map(str, _PROBE))})) ? 0 : 1)"


def relaxed_node(folder: Path) -> Path | None:
    """Writes a program that runs Node.js with relaxed SIMD into `folder`; None if it has none."""
    node = str(find_node())
    for flags in FLAGS:
        command = [node, *flags]
        tried = subprocess.run([*command, "-e", _SCRIPT], stderr=subprocess.DEVNULL, check=False)
        if tried.returncode == 0:
            program = folder / "node"
            program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', "utf-8")
            program.chmod(0o755)
            return program
    return None
