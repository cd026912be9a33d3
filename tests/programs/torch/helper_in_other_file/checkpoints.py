"""Saving."""

import torch.distributed.checkpoint as dcp


def save(model, path):
    state = {"model": model.state_dict()}
    dcp.save(state, checkpoint_id=f"{path}/sharded")
