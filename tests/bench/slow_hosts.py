"""Hosts that answer the probe of discover from memory, each after a fixed time: `slow_hosts.py FOLDER SECONDS`.

All addresses of 127.0.0.0/8 are hosts. Prints its port when it is ready, and ends when its input is closed.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))

from cli.ssh_server import SshServer


def main() -> None:
    """Serve until nobody is there any more."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    server = SshServer(folder, bind="0.0.0.0")
    numbers = itertools.count()

    def answer() -> str:
        time.sleep(seconds)
        return f"\n@@ identity\nhostname=h\ninstance={next(numbers)}\n@@ end\n"

    server.answer = answer
    print(server.port, server.host_key.get_name(), server.host_key.get_base64(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
