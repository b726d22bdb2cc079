"""`python -I -S measure_process.py FILE COMMAND...`: runs the command, and writes its seconds and peak memory as JSON.

Linux counts into the peak memory of a process that of the process which started it; hence this one, which is small.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

if __name__ == "__main__":
    start = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:])
    # Unlike `Popen.wait`, this says what the process and those that it started took.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    with open(sys.argv[1], "w") as file:
        json.dump({"seconds": seconds, "peak_mb": usage.ru_maxrss * unit / 1e6}, file)
    process.returncode = os.waitstatus_to_exitcode(status)
    sys.exit(process.returncode if process.returncode >= 0 else 1)
