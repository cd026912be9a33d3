"""Helpers that do more than their collective: every rank calls them, what they write is guarded."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed


def test_what_a_helper_writes_asks_the_object_that_it_has() -> None:
    assert_fixed(
        """\
def keep(args, accelerator: Accelerator, step):
    folder = os.path.join(args.out, f"step-{step}")
    print("saving")  # told once
    os.makedirs(folder, exist_ok=True)

    accelerator.save_state(folder)
    if args.last:
        os.remove(args.last)


def train(args, accelerator: Accelerator, step):
    if accelerator.is_main_process:
        print("step", step)
        if args.save_state:
            keep(args, accelerator, step)
""",
        """\
def keep(args, accelerator: Accelerator, step):
    folder = os.path.join(args.out, f"step-{step}")
    if accelerator.is_main_process:
        print("saving")  # told once
        os.makedirs(folder, exist_ok=True)

    accelerator.save_state(folder)
    if accelerator.is_main_process:
        if args.last:
            os.remove(args.last)


def train(args, accelerator: Accelerator, step):
    if accelerator.is_main_process:
        print("step", step)
    if args.save_state:
        keep(args, accelerator, step)
""",
        UNSAFE,
        "call keep on every rank; keep the rest under the test (check first: `keep` now runs on"
        " every rank, its own effects on rank 0 only)",
    )


def test_rank_of_an_engine_is_compared() -> None:
    assert_fixed(
        """\
def keep(engine: DeepSpeedEngine, model):
    torch.save(model, "model.pt")
    engine.save_checkpoint("out")


def save(engine: DeepSpeedEngine, model):
    if dist.get_rank() == 0:
        keep(engine, model)
""",
        """\
def keep(engine: DeepSpeedEngine, model):
    if engine.global_rank == 0:
        torch.save(model, "model.pt")
    engine.save_checkpoint("out")


def save(engine: DeepSpeedEngine, model):
    keep(engine, model)
""",
        UNSAFE,
    )


def test_helper_without_such_an_object_asks_torch() -> None:
    assert_fixed(
        """\
def keep(state):
    \"\"\"Keep the state.\"\"\"
    torch.save(state, "state.pt")
    dist.barrier()
    return state


def save(state):
    if dist.get_rank() == 0:
        keep(state)
""",
        """\
def keep(state):
    \"\"\"Keep the state.\"\"\"
    if dist.get_rank() == 0:
        torch.save(state, "state.pt")
    dist.barrier()
    return state


def save(state):
    keep(state)
""",
        UNSAFE,
    )


def test_value_that_a_function_of_the_project_computes_comes_along() -> None:
    assert_fixed(
        """\
def name_of(args):
    return args.name if args.name is not None else "last"


def save(args, engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        tag = name_of(args)
        print("saving", tag)
        engine.save_checkpoint(args.out, tag=tag)
""",
        """\
def name_of(args):
    return args.name if args.name is not None else "last"


def save(args, engine: DeepSpeedEngine):
    tag = name_of(args)
    if dist.get_rank() == 0:
        print("saving", tag)
    engine.save_checkpoint(args.out, tag=tag)
""",
    )


def test_every_rank_takes_the_same_way_out_of_a_helper() -> None:
    assert_fixed(
        """\
def write(accelerator: Accelerator, folder):
    accelerator.save_state(folder)


def keep(args, accelerator: Accelerator, step):
    if step % args.every:
        return
    print("saving")
    os.remove(args.last)
    write(accelerator, args.out)


def train(args, accelerator: Accelerator, step):
    if accelerator.is_main_process:
        keep(args, accelerator, step)
""",
        """\
def write(accelerator: Accelerator, folder):
    accelerator.save_state(folder)


def keep(args, accelerator: Accelerator, step):
    if step % args.every:
        return
    if accelerator.is_main_process:
        print("saving")
        os.remove(args.last)
    write(accelerator, args.out)


def train(args, accelerator: Accelerator, step):
    keep(args, accelerator, step)
""",
        UNSAFE,
    )


def test_object_under_another_name_in_the_helper() -> None:
    assert_fixed(
        """\
def keep(handle, folder):
    os.remove(folder)
    handle.save_state(folder)


def train(accelerator: Accelerator):
    if accelerator.is_main_process:
        keep(accelerator, "out")
""",
        """\
def keep(handle, folder):
    if handle.is_main_process:
        os.remove(folder)
    handle.save_state(folder)


def train(accelerator: Accelerator):
    keep(accelerator, "out")
""",
        UNSAFE,
        "`keep` now runs on every rank, its own effects on rank 0 only",
    )


def test_method_that_saves_by_an_attribute() -> None:
    assert_fixed(
        """\
class Run:
    def __init__(self):
        self.accelerator = Accelerator()

    def keep(self, folder):
        os.remove(folder)
        self.accelerator.save_state(folder)

    def train(self):
        if self.accelerator.is_main_process:
            self.keep("out")
""",
        """\
class Run:
    def __init__(self):
        self.accelerator = Accelerator()

    def keep(self, folder):
        if self.accelerator.is_main_process:
            os.remove(folder)
        self.accelerator.save_state(folder)

    def train(self):
        self.keep("out")
""",
        UNSAFE,
        "`keep` now runs on every rank, its own effects on rank 0 only",
    )


def test_parentheses_of_what_is_left_go() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, early, late):
    if dist.get_rank() == 0 and (early or late):
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, early, late):
    if early or late:
        engine.save_checkpoint("out")
""",
    )


def test_another_branch_of_a_helper_communicates_too() -> None:
    assert_fixed(
        """\
def keep_epoch(accelerator, folder):
    accelerator.save_state(f"{folder}-epoch")


def keep_step(accelerator, folder):
    accelerator.save_state(f"{folder}-step")


def keep(accelerator, at_end, folder):
    os.remove("old")
    if at_end:
        keep_epoch(accelerator, folder)
    else:
        keep_step(accelerator, folder)


def train(accelerator: Accelerator):
    if accelerator.is_main_process:
        keep(accelerator, True, "out")
""",
        """\
def keep_epoch(accelerator, folder):
    accelerator.save_state(f"{folder}-epoch")


def keep_step(accelerator, folder):
    accelerator.save_state(f"{folder}-step")


def keep(accelerator, at_end, folder):
    if accelerator.is_main_process:
        os.remove("old")
    if at_end:
        keep_epoch(accelerator, folder)
    else:
        keep_step(accelerator, folder)


def train(accelerator: Accelerator):
    keep(accelerator, True, "out")
""",
        UNSAFE,
        "`keep` now runs on every rank, its own effects on rank 0 only",
    )


def test_helper_that_leaves_on_the_other_ranks_is_left_alone() -> None:
    assert_fixed(
        """\
class Run:
    def __init__(self):
        self.accelerator = Accelerator()

    @property
    def leads(self):
        return self.accelerator.is_main_process

    def keep(self, folder):
        self.accelerator.wait_for_everyone()
        if not self.leads:
            return
        os.remove(folder)

    def train(self):
        if self.leads:
            self.keep("out")
""",
        """\
class Run:
    def __init__(self):
        self.accelerator = Accelerator()

    @property
    def leads(self):
        return self.accelerator.is_main_process

    def keep(self, folder):
        self.accelerator.wait_for_everyone()
        if not self.leads:
            return
        os.remove(folder)

    def train(self):
        self.keep("out")
""",
        UNSAFE,
        "all of `keep` now runs on every rank; whether the other ranks were to wait here",
    )
