"""`python -m webnn_compile`"""

from .cli import main

# Processes that compile kernels import this module anew.
if __name__ == "__main__":
    main()
