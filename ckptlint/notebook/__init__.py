"""Notebooks: the code cells of an ``.ipynb`` file as one program, and the way back to the cells."""

from ckptlint.notebook.source import Notebook

__all__ = ["Notebook"]
