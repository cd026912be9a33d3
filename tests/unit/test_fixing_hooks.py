"""Taking a decorator off a function that communicates."""

from __future__ import annotations

from fixes import assert_fixed


def test_hook_of_a_callback_asks_the_trainer() -> None:
    assert_fixed(
        """\
class Keep(Callback):
    @rank_zero_only
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        \"\"\"Keep the scores.\"\"\"
        checkpoint["scores"] = pl_module.all_gather(pl_module.scores)
        print("kept")


@rank_zero_only
def tell():
    print("told")
""",
        """\
class Keep(Callback):
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        \"\"\"Keep the scores.\"\"\"
        checkpoint["scores"] = pl_module.all_gather(pl_module.scores)
        if trainer.is_global_zero:
            print("kept")


@rank_zero_only
def tell():
    print("told")
""",
    )


def test_hook_of_a_module_asks_its_trainer() -> None:
    assert_fixed(
        """\
class Net(LightningModule):
    @rank_zero_only
    @torch.no_grad()
    def on_train_epoch_end(self):
        total = self.all_gather(self.count)
        print(total)


tell = rank_zero_only(print)
""",
        """\
class Net(LightningModule):
    @torch.no_grad()
    def on_train_epoch_end(self):
        total = self.all_gather(self.count)
        if self.trainer.is_global_zero:
            print(total)


tell = rank_zero_only(print)
""",
    )


def test_function_asks_the_decorator() -> None:
    assert_fixed(
        """\
@rank_zero_only
def report(values):
    print("waiting")
    dist.barrier()
""",
        """\
def report(values):
    if rank_zero_only.rank == 0:
        print("waiting")
    dist.barrier()
""",
    )


def test_import_that_nothing_needs_any_more_goes() -> None:
    before = """\
from lightning.pytorch import Callback
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only


class Keep(Callback):
    @rank_zero_only
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        checkpoint["scores"] = pl_module.all_gather(pl_module.scores)
        rank_zero_info("kept")
"""
    after = """\
from lightning.pytorch import Callback
from lightning.pytorch.utilities import rank_zero_info


class Keep(Callback):
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        checkpoint["scores"] = pl_module.all_gather(pl_module.scores)
        if trainer.is_global_zero:
            rank_zero_info("kept")
"""
    assert_fixed(before.encode(), after.encode())


def test_hook_that_returns_what_it_gathers() -> None:
    assert_fixed(
        """\
class Keep(Callback):
    @rank_zero_only
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        return pl_module.all_gather(pl_module.scores)


@rank_zero_only
def tell():
    print("told")
""",
        """\
class Keep(Callback):
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        gathered = pl_module.all_gather(pl_module.scores)
        if trainer.is_global_zero:
            return gathered


@rank_zero_only
def tell():
    print("told")
""",
    )
