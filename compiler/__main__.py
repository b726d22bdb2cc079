"""`python -m webnn_compile`"""

from .cli import main

main()
