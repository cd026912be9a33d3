"""Fixes that call the runtime: ``fix-style = "runtime"``."""

from __future__ import annotations

from fixes import HEAD, UNSAFE, assert_fixed

WITH_RUNTIME = HEAD.replace("import torch\n", "import ckptlint_runtime\nimport torch\n", 1)


def assert_calls_runtime(before: str, after: str, says: str) -> None:
    assert_fixed(before, (WITH_RUNTIME + after).encode(), UNSAFE, says, runtime=True)


def test_save_of_an_engine() -> None:
    assert_calls_runtime(
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        engine.save_checkpoint("out", tag=f"step-{step}")
        print("saved")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0:
        ckptlint_runtime.save_checkpoint(engine, f"out/step-{step}")
        if dist.get_rank() == 0:
            print("saved")
""",
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
    )


def test_save_of_an_engine_under_one_name_replaces_it() -> None:
    assert_calls_runtime(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out", "last")
""",
        """\
def save(engine: DeepSpeedEngine):
    ckptlint_runtime.save_checkpoint(engine, "out/last", overwrite=True)
""",
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
    )


def test_save_of_an_accelerator() -> None:
    assert_calls_runtime(
        """\
def save(accelerator: Accelerator, folder):
    if accelerator.is_main_process:
        accelerator.save_state(folder)
""",
        """\
def save(accelerator: Accelerator, folder):
    ckptlint_runtime.save_checkpoint(accelerator, folder)
""",
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
    )


def test_gathered_state() -> None:
    assert_calls_runtime(
        """\
def save(model: FSDP, optimizer, step, path):
    if dist.get_rank() == 0:
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": FSDP.optim_state_dict(model, optimizer),
                "step": step,
            },
            path,
        )
""",
        """\
def save(model: FSDP, optimizer, step, path):
    ckptlint_runtime.save_checkpoint({"model": model, "optimizer": optimizer, "step": step}, path)
""",
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
    )


def test_gathered_state_of_one_object() -> None:
    assert_calls_runtime(
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        print("saving")
        torch.save(model.state_dict(), path)
""",
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        print("saving")
    ckptlint_runtime.save_checkpoint({"model": model}, path)
""",
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
    )


def test_value_that_rank_zero_alone_can_make() -> None:
    assert_calls_runtime(
        """\
def save(engine: DeepSpeedEngine, ask, step):
    if dist.get_rank() == 0:
        folder = ask("folder?", step)
        engine.save_checkpoint(folder)
""",
        """\
def save(engine: DeepSpeedEngine, ask, step):
    folder = ckptlint_runtime.run_on_rank_zero(ask, "folder?", step)
    engine.save_checkpoint(folder)
""",
        "whether JSON holds what rank 0 makes",
    )


def test_clock_of_rank_zero() -> None:
    assert_calls_runtime(
        """\
import time


def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        folder = f"at-{time.time()}"
        engine.save_checkpoint(folder)
""",
        """\
import time


def save(engine: DeepSpeedEngine):
    folder = ckptlint_runtime.run_on_rank_zero(lambda: f"at-{time.time()}")
    engine.save_checkpoint(folder)
""",
        "whether JSON holds what rank 0 makes",
    )


def test_work_for_which_the_others_wait() -> None:
    assert_calls_runtime(
        """\
def prepare(path, download):
    if dist.get_rank() == 0:
        download(path, force=True)
    else:
        dist.barrier()
""",
        """\
def prepare(path, download):
    ckptlint_runtime.run_on_rank_zero(download, path, force=True)
""",
        "whether JSON holds what it returns",
    )


def test_save_with_more_than_the_runtime_takes_is_fixed_plainly() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out", tag="last", client_state={"step": step})
""",
        """\
def save(engine: DeepSpeedEngine, step):
    engine.save_checkpoint("out", tag="last", client_state={"step": step})
""",
        runtime=True,
    )


def test_import_that_is_there() -> None:
    assert_fixed(
        """\
import ckptlint_runtime


def save(accelerator: Accelerator, folder):
    print(ckptlint_runtime.latest_checkpoint(folder))
    if accelerator.is_main_process:
        accelerator.save_state(folder)
""",
        """\
import ckptlint_runtime


def save(accelerator: Accelerator, folder):
    print(ckptlint_runtime.latest_checkpoint(folder))
    ckptlint_runtime.save_checkpoint(accelerator, folder)
""",
        UNSAFE,
        "what loads it must call `ckptlint_runtime.load_checkpoint`",
        runtime=True,
    )


def test_name_that_means_something_else_is_fixed_plainly() -> None:
    assert_fixed(
        """\
ckptlint_runtime = None


def save(accelerator: Accelerator, folder):
    if accelerator.is_main_process:
        accelerator.save_state(folder)
""",
        """\
ckptlint_runtime = None


def save(accelerator: Accelerator, folder):
    accelerator.save_state(folder)
""",
        runtime=True,
    )


def assert_imported(before: bytes, after: bytes) -> None:
    body = b"""
def save(accelerator: Accelerator, folder):
    if accelerator.is_main_process:
        accelerator.save_state(folder)
"""
    fixed = b"""
def save(accelerator: Accelerator, folder):
    ckptlint_runtime.save_checkpoint(accelerator, folder)
"""
    end = b"\r\n" if b"\r\n" in before else b"\n"
    body, fixed = (text.replace(b"\n", end) for text in (body, fixed))
    assert_fixed(before + body, after + fixed, UNSAFE, runtime=True)


def test_import_goes_in_front_of_other_forms_of_its_group() -> None:
    assert_imported(
        b"""\
\"\"\"Trains.\"\"\"

from __future__ import annotations

import os

from accelerate import Accelerator
from tqdm import tqdm

from train import args
""",
        b"""\
\"\"\"Trains.\"\"\"

from __future__ import annotations

import os

import ckptlint_runtime
from accelerate import Accelerator
from tqdm import tqdm

from train import args
""",
    )


def test_import_goes_where_its_name_belongs() -> None:
    assert_imported(
        b"""\
import argparse
import torch
from accelerate import Accelerator
""",
        b"""\
import argparse
import ckptlint_runtime
import torch
from accelerate import Accelerator
""",
    )


def test_import_ends_like_the_other_lines() -> None:
    assert_imported(
        b"import accelerate\r\nfrom accelerate import Accelerator\r\n",
        b"import accelerate\r\nimport ckptlint_runtime\r\nfrom accelerate import Accelerator\r\n",
    )
