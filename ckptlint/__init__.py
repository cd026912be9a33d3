"""ckptlint finds collective calls and checkpoint saves that only some ranks reach."""

__version__ = "0.1.0"
