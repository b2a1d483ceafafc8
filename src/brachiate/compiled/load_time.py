"""Time at which this process began to load code that is compiled."""

import time

LOAD_TIME = time.time()  # [s] files that changed later may differ from what this process has loaded
