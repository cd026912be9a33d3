"""What earlier runs found out of a project, kept in one file on disk.

Three things are kept: of each file what tells whether it has changed, and the names in it; an index
from names to files; and answers, each with the questions that were asked for it. In the next run
only files that changed are read. What is different about them are the questions that have another
answer now, and an answer for which none of those was asked still holds.

A file that is damaged, or that another run has written meanwhile, counts as not there: everything
is found out anew. All of a run is written at once, at its end.
"""
