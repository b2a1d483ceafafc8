"""``python -m brachiate.cli``."""

from brachiate.cli import main

main()
