"""A collective checkpoint save that cannot hang in silence or leave half a checkpoint.

Call these on every rank. They check over the c10d store of the job that all ranks came and mean
the same thing, write durably, publish with one rename, and tell every rank the same outcome.
"""

from .background import PendingSave, async_save_checkpoint
from .coordination import agree, latest_checkpoint, run_on_rank_zero
from .errors import (
    CheckpointError,
    Failure,
    MissingRanksError,
    RankFailedError,
    RanksDisagreeError,
)
from .load import Loaded, load_checkpoint
from .request import Progress
from .save import save_checkpoint
from .settings import set_default_timeouts

__all__ = [
    "CheckpointError",
    "Failure",
    "Loaded",
    "MissingRanksError",
    "PendingSave",
    "Progress",
    "RankFailedError",
    "RanksDisagreeError",
    "agree",
    "async_save_checkpoint",
    "latest_checkpoint",
    "load_checkpoint",
    "run_on_rank_zero",
    "save_checkpoint",
    "set_default_timeouts",
]

__version__ = "0.1.0"
