"""``python -m ckptlint``."""

from ckptlint.cli import main

main()
