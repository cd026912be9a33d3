"""Writing weights."""

import torch
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, StateDictType


def write_weights(model: FullyShardedDataParallel, path: str) -> None:
    """Write the whole model into one file."""
    config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        state = model.state_dict()
    torch.save(state, path)
