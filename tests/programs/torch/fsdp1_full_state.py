"""FSDP1: rank 0 gathers the full state alone."""

import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = FSDP(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    print(f"rank {dist.get_rank()} trained", flush=True)
    if dist.get_rank() == 0:
        policy = FullStateDictConfig()
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, policy):
            state = model.state_dict()  # expect: CKP102
        torch.save(state, f"{path}/model.pt")
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
