"""From the caller's objects to a tree that can be written, and back.

``full`` state is complete on the group's first rank; ``sharded`` state holds each rank's part.
Modules that a parallel wrapper holds (DDP, FSDP, FSDP2, tensor parallel) and their optimizers go
through ``torch.distributed.checkpoint.state_dict``, which knows how to gather and to name them;
everything else through its own ``state_dict``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from .engines import engine_of
from .errors import CheckpointError

Tree = Any
State = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | Any

_WRAPPERS = {"DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule", "OptimizedModule"}


def parts_of(state: State) -> dict[str, Any]:
    """The named parts of ``state``: a mapping, a callable that returns one, or one object.

    An object with ``state_dict`` that is given alone becomes the part ``"state"``.
    """
    if callable(state) and not hasattr(state, "state_dict"):
        state = state()
    if isinstance(state, Mapping):
        for name in state:
            if not isinstance(name, str):
                raise TypeError(f"the names of a state are strings, not {name!r}")
        return dict(state)
    if hasattr(state, "state_dict"):
        return {"state": state}
    raise TypeError(
        f"cannot save a {type(state).__name__}: give a mapping of named parts, an object with "
        "state_dict(), a callable that returns a mapping, or a supported engine"
    )


def collect(parts: Mapping[str, Any], mode: str) -> dict[str, Tree]:
    """The tree of every part. Collective where a part's state is spread over ranks and ``full``.

    Parts are taken in the order of their names, the same on all ranks.
    """
    for name, part in parts.items():
        if engine_of(part) is not None:
            raise TypeError(
                f"the part {name!r} is an engine, whose save is collective and whole: give the "
                "engine itself as the state"
            )
    options = _options(mode, parts)
    collected: dict[str, Tree] = {}
    for name in sorted(parts):
        part = parts[name]
        tree: Tree
        if _is_wrapped(part):
            tree = get_model_state_dict(part, options=options)
        elif (owner := _owner(part, parts)) is not None:
            tree = get_optimizer_state_dict(owner, part, options=options)
        elif hasattr(part, "state_dict"):
            tree = part.state_dict()
        elif callable(part):
            tree = part()
        else:
            tree = part
        collected[name] = _gather(tree) if mode == "full" else tree
    return collected


def restore(parts: Mapping[str, Any], loaded: Mapping[str, Tree], mode: str) -> dict[str, Any]:
    """Give each part its loaded tree; return the parts that have no ``load_state_dict``."""
    options = _options(mode, parts)
    values: dict[str, Any] = {}
    for name in sorted(parts):
        part, tree = parts[name], loaded[name]
        if _is_wrapped(part):
            set_model_state_dict(part, model_state_dict=tree, options=options)
        elif (owner := _owner(part, parts)) is not None:
            _set_optimizer(owner, part, tree, options)
        elif hasattr(part, "load_state_dict"):
            part.load_state_dict(tree)
        else:
            values[name] = tree
    return values


def _set_optimizer(
    owner: torch.nn.Module, optimizer: torch.optim.Optimizer, tree: Tree, options: StateDictOptions
) -> None:
    """torch's own way to load it turns tuples, such as Adam's betas, to lists; turn them back."""
    tuples = [
        [name for name, value in group.items() if isinstance(value, tuple)]
        for group in optimizer.param_groups
    ]
    set_optimizer_state_dict(owner, optimizer, optim_state_dict=tree, options=options)
    for group, names in zip(optimizer.param_groups, tuples, strict=True):
        for name in names:
            group[name] = tuple(group[name])


def templates(parts: Mapping[str, Any]) -> dict[str, Tree]:
    """For a sharded load: the trees, in place, of the parts whose tensors are spread over ranks."""
    options = _options("sharded", parts)
    found: dict[str, Tree] = {}
    for name in sorted(parts):
        part = parts[name]
        if _is_wrapped(part):
            found[name] = get_model_state_dict(part, options=options)
        elif (owner := _owner(part, parts)) is not None:
            found[name] = get_optimizer_state_dict(owner, part, options=options)
    return found


def staged(tree: Tree) -> Tree:
    """A copy in host memory that later steps of the training loop cannot change.

    What is one tensor under several names (tied weights) is copied once and stays one.
    """
    copies: dict[Any, torch.Tensor] = {}

    def copied(leaf: Tree) -> Tree:
        if not isinstance(leaf, torch.Tensor) or type(leaf).__name__ == "ShardedTensor":
            return copy.deepcopy(leaf)
        if not _is_plain(leaf):
            return leaf.detach().to("cpu", copy=True)
        same = (leaf.device, leaf.data_ptr(), leaf.dtype, leaf.shape, leaf.stride())
        if same not in copies:
            copies[same] = leaf.detach().to("cpu", copy=True)
        return copies[same]

    return _rebuild(tree, copied)


def size_of(tree: Tree) -> int:
    """Bytes of the tensors in ``tree``; storage that several of them share counts once."""
    storages: dict[int, int] = {}

    def note(leaf: Tree) -> Tree:
        if _is_plain(leaf):
            storage = leaf.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif isinstance(leaf, torch.Tensor):
            storages[-id(leaf)] = leaf.numel() * leaf.element_size()
        return leaf

    _rebuild(tree, note)
    return sum(storages.values())


def _is_plain(leaf: Tree) -> bool:
    """Whether ``leaf`` is a tensor with one storage of its own; some subclasses have none."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    return type(leaf) in kinds and leaf.layout == torch.strided


def _gather(tree: Tree) -> Tree:
    """Replace each tensor spread over ranks by the whole one. Collective if there is any."""

    def whole(leaf: Tree) -> Tree:
        full = getattr(leaf, "full_tensor", None) if isinstance(leaf, torch.Tensor) else None
        return leaf if full is None else full()

    return _rebuild(tree, whole)


def _rebuild(tree: Tree, leaf: Callable[[Tree], Tree]) -> Tree:
    """The same containers, with ``leaf`` of everything that is none."""
    if type(tree) is dict or (isinstance(tree, Mapping) and hasattr(tree, "copy")):
        fresh = {key: _rebuild(value, leaf) for key, value in tree.items()}
        return fresh if type(tree) is dict else _like(tree, fresh)
    if type(tree) in (list, tuple):
        return type(tree)(_rebuild(value, leaf) for value in tree)
    return leaf(tree)


def _like(tree: Any, fresh: dict[Any, Any]) -> Any:
    shell = tree.copy()  # keeps the class and, for a module's state, its ``_metadata``
    shell.update(fresh)
    return shell


def _options(mode: str, parts: Mapping[str, Any]) -> StateDictOptions:
    full = mode == "full"
    # Gathered state goes to the first rank's host memory only. Asked of FSDP1 on the CPU, torch
    # frees the storage that the gathered tensors share with the module, and crashes.
    offload = full and any(
        parameter.device.type != "cpu"
        for part in parts.values()
        if isinstance(part, torch.nn.Module)
        for parameter in part.parameters()
    )
    return StateDictOptions(full_state_dict=full, cpu_offload=offload)


def _is_wrapped(part: Any) -> bool:
    if not isinstance(part, torch.nn.Module):
        return False
    return any(
        base.__name__ in _WRAPPERS for module in part.modules() for base in type(module).__mro__
    ) or any(hasattr(parameter, "full_tensor") for parameter in part.parameters())


def _owner(part: Any, parts: Mapping[str, Any]) -> torch.nn.Module | None:
    """The wrapped module among ``parts`` whose parameters the optimizer ``part`` updates."""
    if not isinstance(part, torch.optim.Optimizer):
        return None
    updated = {id(tensor) for group in part.param_groups for tensor in group["params"]}
    for candidate in parts.values():
        if _is_wrapped(candidate):
            owned = {id(parameter) for parameter in candidate.parameters()}
            if updated <= owned:
                return candidate  # type: ignore[no-any-return]
            if updated & owned:
                raise CheckpointError(
                    "an optimizer updates parameters of a wrapped module and others besides; "
                    "give them optimizers of their own, or save a callable instead"
                )
    return None
