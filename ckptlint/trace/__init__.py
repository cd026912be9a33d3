"""What each rank does in a function, drawn side by side.

``weave`` turns the traces of the analysis into a :class:`~ckptlint.trace.picture.Picture`, plain
data that the renderers ``text``, ``svg`` and ``html`` draw.
"""
