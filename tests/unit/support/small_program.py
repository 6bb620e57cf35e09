"""A program to fork: does what its first argument says."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tell"]:
            print(Path.cwd(), os.environ["GREETING"], sorted(os.environ)[:1], flush=True)
            print("an error", file=sys.stderr)
        case ["exit", code]:
            sys.exit(int(code))
        case ["complain"]:
            sys.exit("a sentence")
        case ["raise"]:
            raise ValueError("a fault")
        case ["wait"]:
            print("waiting", flush=True)
            time.sleep(1000)
