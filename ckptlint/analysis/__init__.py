"""What each rank does: values, control flow, sequences of collectives, and their comparison.

The order of reading is ``ranks`` (the rank classes), ``values`` (what an expression may be),
``sequences`` (what a function does), ``interpreter`` (from one to the other) and ``compare``.
Nothing here does I/O.
"""
