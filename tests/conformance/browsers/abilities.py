"""What a browser offers to pages that train, asked in a page with the headers of the server."""

from __future__ import annotations

from pathlib import Path

from tests.support.browser.static_site import serve
from tests.support.exact.engines import Browser

# Names of the answers, in the order of the table.
ABILITIES = {
    "wasm": "WebAssembly with SIMD",
    "threads": "Threads in WebAssembly (shared memory)",
    "webgl": "WebGL 2 in a worker",
    "webgpu": "WebGPU in a worker",
    "webrtc": "WebRTC data channels",
    "curves": "X25519 and Ed25519 in WebCrypto",
    "files": "Files on the device for large data (OPFS)",
    "wake": "Keeps the screen awake while it trains",
}

# A module of WebAssembly with one SIMD instruction, by https://github.com/WebAssembly/simd (i32x4.splat).
_SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 17, 11]

_PROBE = """async (simd) => {
  const holds = async (ask) => { try { return Boolean(await ask()); } catch { return false; } };
  const curve = (name, uses) => crypto.subtle.generateKey({ name }, false, uses);
  const inWorker = await new Promise((resolve, reject) => {
    const worker = new Worker("probe.js");
    worker.onmessage = ({ data }) => { resolve(data); worker.terminate(); };
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  return {
    ...inWorker,
    wasm: await holds(() => WebAssembly.validate(new Uint8Array(simd))),
    threads: await holds(() => crossOriginIsolated && new SharedArrayBuffer(8).byteLength === 8),
    webrtc: await holds(() => {
      const connection = new RTCPeerConnection();
      connection.createDataChannel("probe");
      connection.close();
      return true;
    }),
    curves: await holds(async () => {
      await curve("X25519", ["deriveBits"]);
      return curve("Ed25519", ["sign", "verify"]);
    }),
    files: await holds(() => navigator.storage.getDirectory()),
    wake: await holds(() => "wakeLock" in navigator),
  };
}"""


def abilities(browser: Browser) -> tuple[str, dict[str, bool]]:
    """Returns the browser's user agent and its ABILITIES."""
    with serve({"/page/": Path(__file__).parent / "page"}) as origin:
        tab = browser.open(f"{origin}/page/index.html")
        try:
            agent = tab.evaluate("() => navigator.userAgent")
            found = tab.evaluate(_PROBE, _SIMD)
        finally:
            tab.close()
    return str(agent), {name: found[name] for name in ABILITIES}
