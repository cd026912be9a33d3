"""Which files are found, which are left out, and which project each belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptlint.config import Globs, Settings
from ckptlint.discovery import Discovery, MissingPathError, discover


def tree(root: Path, *files: str) -> Path:
    """Make empty files."""
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def find(*named: Path, **settings: object) -> Discovery:
    return discover(named, lambda root: Settings(**settings))  # type: ignore[arg-type]


def asked(found: Discovery, root: Path) -> list[str]:
    return [
        path.relative_to(root).as_posix() for project in found.projects for path in project.asked
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path / "project", ".git/HEAD").resolve()


def test_python_files_are_found_in_order(root: Path) -> None:
    tree(root, "b.py", "a.py", "sub/c.py", "d.pyi", "e.txt", "Makefile")
    assert asked(find(root), root) == ["a.py", "b.py", "sub/c.py"]


def test_folders_that_hold_no_own_code_are_left_out(root: Path) -> None:
    tree(root, "a.py", "node_modules/b.py", ".venv/lib/c.py", "build/d.py", "x/__pycache__/e.py")
    assert asked(find(root), root) == ["a.py"]


def test_a_folder_that_is_named_is_walked_all_the_same(root: Path) -> None:
    tree(root, "build/a.py", "build/build/b.py")
    assert asked(find(root / "build"), root) == ["build/a.py"]


def test_exclude_replaces_the_built_in_folders_and_extend_exclude_adds(root: Path) -> None:
    tree(root, "a.py", "build/b.py", "old/c.py", "old/deep/d.py", "sub/old/e.py", "x_pb2.py")
    found = find(root, exclude=Globs(root, ("old",)))
    assert asked(found, root) == ["a.py", "x_pb2.py", "build/b.py"]
    found = find(root, extend_exclude=(Globs(root, ("/old", "*_pb2.py")),))
    assert asked(found, root) == ["a.py", "sub/old/e.py"]


def test_git_ignore_files_hold_at_every_level(root: Path) -> None:
    tree(root, "a.py", "gen/b.py", "sub/c.py", "sub/d.py", "sub/deep/c.py", "keep/gen.py")
    write(root / ".gitignore", "gen\n# a comment\n*.log\n")
    write(root / "sub" / ".gitignore", "/c.py\n")
    assert asked(find(root), root) == ["a.py", "keep/gen.py", "sub/d.py", "sub/deep/c.py"]


def test_a_deeper_git_ignore_takes_back(root: Path) -> None:
    tree(root, "sub/a.py", "b.py")
    write(root / ".gitignore", "*.py\n")
    write(root / "sub" / ".gitignore", "!a.py\n")
    assert asked(find(root), root) == ["sub/a.py"]


def test_git_ignore_files_above_the_named_folder_hold(root: Path) -> None:
    tree(root, "sub/a.py", "sub/b.py")
    write(root / ".gitignore", "/sub/b.py\n")
    assert asked(find(root / "sub"), root) == ["sub/a.py"]


def test_a_named_folder_that_git_ignores_is_walked(root: Path) -> None:
    tree(root, "gen/a.py")
    write(root / ".gitignore", "gen/\n")
    assert asked(find(root), root) == []
    assert asked(find(root / "gen"), root) == ["gen/a.py"]


def test_the_excludes_of_the_clone_hold(root: Path) -> None:
    tree(root, "a.py", "mine.py")
    write(root / ".git" / "info" / "exclude", "mine.py\n")
    (root / "sub").mkdir()
    tree(root, "sub/mine.py", "sub/b.py")
    assert asked(find(root / "sub"), root) == ["sub/b.py"]
    assert asked(find(root), root) == ["a.py", "sub/b.py"]


def test_a_line_that_git_cannot_read_does_not_spoil_the_others(root: Path) -> None:
    tree(root, "a.py", "b.py")
    write(root / ".gitignore", "!\n//\nb.py\n\\\n")
    assert asked(find(root), root) == ["a.py"]


def test_a_file_named_twice_is_checked_once(root: Path) -> None:
    tree(root, "a.py", "b.py")
    found = find(root / "a.py", root, root / "sub" / ".." / "a.py")
    assert asked(found, root) == ["a.py", "b.py"]


def test_a_link_and_its_target_are_one_file(root: Path) -> None:
    tree(root, "z.py")
    (root / "a.py").symlink_to(root / "z.py")
    assert asked(find(root), root) == ["z.py"]
    assert asked(find(root / "a.py"), root) == ["a.py"]
    assert find(root / "a.py").projects[0].around == ()


def test_a_link_to_a_folder_is_followed_when_it_is_named_only(root: Path) -> None:
    tree(root, "real/a.py")
    (root / "link").symlink_to(root / "real", target_is_directory=True)
    assert asked(find(root), root) == ["real/a.py"]
    assert asked(find(root / "link"), root) == ["link/a.py"]


def test_a_missing_path_is_an_error(root: Path) -> None:
    with pytest.raises(MissingPathError, match=r"gone\.py"):
        find(root / "gone.py")


def test_the_rest_of_the_project_comes_along(root: Path) -> None:
    tree(root, "a.py", "sub/b.py", "build/c.py", "tests/test_d.py")
    (project,) = find(root / "sub").projects
    assert project.root == root
    around = [path.relative_to(root).as_posix() for path in project.around]
    assert around == ["a.py", "tests/test_d.py"]


def test_what_surrounds_a_file_does_not_depend_on_what_was_named(root: Path) -> None:
    tree(root, "a.py", "sub/b.py", "c.py")
    everything = {root / "a.py", root / "sub" / "b.py", root / "c.py"}
    for named in (root, root / "sub", root / "a.py"):
        (project,) = find(named).projects
        assert {*project.asked, *project.around} == everything


@pytest.mark.parametrize("marker", ["pyproject.toml", "setup.py", "setup.cfg", ".ckptlint.toml"])
def test_a_package_in_a_repository_is_a_project_of_its_own(root: Path, marker: str) -> None:
    tree(root, "a.py", f"package/{marker}", "package/deep/b.py")
    for named in (root, root / "package" / "deep", root / "package" / "deep" / "b.py"):
        roots = {project.root: project for project in find(named).projects}
        project = roots[root / "package"]
        assert root / "package" / "deep" / "b.py" in project.asked
        assert root / "a.py" not in (*project.asked, *project.around)


def test_without_a_marker_only_the_folder_and_its_sub_folders_come_along(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.py", "sub/c.py", "sub/deep/d.py")
    (project,) = find(tmp_path / "a.py").projects
    around = [path.relative_to(tmp_path).as_posix() for path in project.around]
    assert around == ["b.py", "sub/c.py"]
    assert len(asked(find(tmp_path), tmp_path)) == 4


def test_test_files_are_counted(root: Path) -> None:
    tree(root, "a.py", "tests/x.py", "test_b.py", "c_test.py", "conftest.py", "test/d.py")
    found = find(root)
    assert asked(found, root) == ["a.py", "test/d.py"]
    assert found.tests == 4
    assert find(root, include_tests=True).tests == 0
    assert len(asked(find(root, include_tests=True), root)) == 6


def test_a_folder_of_tests_above_the_project_makes_no_tests(tmp_path: Path) -> None:
    root = tree(tmp_path / "tests" / "project", ".git/HEAD", "a.py")
    assert asked(find(root), root) == ["a.py"]


def test_tests_that_are_named_are_not_counted_as_left_out(root: Path) -> None:
    tree(root, "tests/test_a.py", "tests/test_b.py")
    found = find(root, root / "tests" / "test_a.py")
    assert asked(found, root) == ["tests/test_a.py"]
    assert found.tests == 1


def test_settings_are_asked_for_the_root_of_each_project(root: Path) -> None:
    tree(root, "a.py", "package/setup.py", "package/old/b.py", "old/c.py")

    def settings_for(folder: Path) -> Settings:
        return Settings(extend_exclude=(Globs(root, ("old",)),) if folder == root else ())

    found = discover([root], settings_for)
    assert asked(found, root) == ["a.py", "package/setup.py", "package/old/b.py"]
