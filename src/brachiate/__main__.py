"""Command line as a module: ``python -m brachiate``."""

from brachiate.cli import main

main()
