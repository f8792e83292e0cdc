"""Networks as small files: the same network comes back, and only the same."""

import dataclasses
import io
import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero import files, runs
from jaxzero.runs import Member, Run, weights
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings.config import ConfigError, flatten
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from tests import small

NAMES = ("sum_seed0", "sum_seed1")
NO_ITERATION = '{"format": "jaxzero weights 1", "iteration": "x"}'


def networks() -> Learner:
    """Two trained networks, [R]; weights that need more bits than bfloat16 has."""
    learners = [
        runs.without_optimiser(
            small.run_alone(small.small_spec(), small.small_hyper(), seed=seed, iterations=1)[-1][
                0
            ].learner
        )
        for seed in (0, 1)
    ]
    return jax.tree.map(lambda *x: jnp.stack(x), *learners)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Learner]:
    """A run directory with weights only, and the networks they were made of."""
    directory = tmp_path_factory.mktemp("exported")
    config = small.small_config()
    members = [Member(n, "sum", i, small.small_config({"seed": i})) for i, n in enumerate(NAMES)]
    (directory / "config.json").write_text(json.dumps(flatten(config) | {"study": "test"}))
    runs.write_members(directory, config, members)
    trained = networks()
    folder = directory / weights.FOLDER
    folder.mkdir()
    for i, name in enumerate(NAMES):
        one = jax.tree.map(lambda x, i=i: x[i], trained)
        (folder / f"{name}.npz").write_bytes(weights.to_bytes(one))
    (folder / weights.INDEX).write_text(json.dumps(weights.index(NAMES, 7)))
    return directory, trained


def test_a_run_directory_with_weights_has_its_networks(exported: tuple[Path, Learner]) -> None:
    directory, trained = exported
    run = runs.open_run(directory)
    assert run.iterations == (0, 7)
    loaded = runs.networks(run)
    assert jax.tree.structure(loaded) == jax.tree.structure(trained)
    for ours, theirs in zip(
        jax.tree.leaves(loaded.params), jax.tree.leaves(trained.params), strict=True
    ):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs.astype(jnp.bfloat16).astype(ours.dtype))
    small.assert_equal(loaded.batch_stats, trained.batch_stats)
    one = runs.member_network(run, 1)
    small.assert_equal(one, jax.tree.map(lambda x: x[1], loaded))


def test_outputs_are_the_same_up_to_bfloat16(exported: tuple[Path, Learner]) -> None:
    directory, trained = exported
    run = runs.open_run(directory)
    observation = small.random_examples(run.spec.game, 32).observation
    for i in range(2):
        before = learner.infer(run.spec, jax.tree.map(lambda x, i=i: x[i], trained), observation)
        after = learner.infer(run.spec, runs.member_network(run, i), observation)
        for name in ("value", "policy_logits"):
            exact, rounded = getattr(before, name), getattr(after, name)
            spread = float(np.ptp(exact))  # over positions that have nothing in common
            assert spread > 0.01
            np.testing.assert_allclose(rounded, exact, atol=0.03 * spread)
            assert (rounded != exact).any()


def test_numpy_alone_reads_them(exported: tuple[Path, Learner]) -> None:
    directory, trained = exported
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    arrays = names["read"](directory / weights.FOLDER / f"{NAMES[0]}.npz")
    assert {x.dtype for x in arrays.values()} == {np.dtype(np.float32)}
    np.testing.assert_allclose(
        arrays["params/policy/kernel"], trained.params["policy"]["kernel"][0], rtol=2**-8
    )


def test_kept_networks_go_before_weights(exported: tuple[Path, Learner]) -> None:
    directory, trained = exported
    snapshots = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
    snapshots.save(3, trained)
    snapshots.close()
    run = runs.open_run(directory)
    assert run.iterations == (0, 3)
    small.assert_equal(runs.networks(run), trained)


def test_members_without_weights_are_named_and_left_out(
    exported: tuple[Path, Learner], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, trained = exported
    copy = shutil.copytree(directory, tmp_path / "copy", ignore=lambda *_: {runs.SNAPSHOTS})
    weights.path_of(copy, NAMES[0]).unlink()
    run = runs.open_run(copy)
    assert f"has no weights of {NAMES[0]}: left out" in capsys.readouterr().err
    assert [member.name for member in run.members] == list(NAMES[1:])
    rest = jax.tree.map(lambda x: x[1:], trained)
    small.assert_close(runs.networks(run), rest, 2**-8)


def test_an_export_that_lost_its_weights_is_said(
    exported: tuple[Path, Learner], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {runs.SNAPSHOTS, weights.FOLDER, "checkpoints"}
    copy = shutil.copytree(exported[0], tmp_path / "copy", ignore=lambda *_: lost)
    (copy / "metrics.jsonl").touch()
    assert runs.open_run(copy).iterations == (0,)
    assert "the untrained networks are opened" in capsys.readouterr().err


@pytest.mark.parametrize(
    "index", ["[]", "{}", '{"format": "jaxzero weights 2", "iteration": 7}', NO_ITERATION]
)
def test_another_format_is_refused(
    exported: tuple[Path, Learner], tmp_path: Path, index: str
) -> None:
    copy = shutil.copytree(exported[0], tmp_path / "copy", ignore=lambda *_: {runs.SNAPSHOTS})
    (copy / weights.FOLDER / weights.INDEX).write_text(index)
    with pytest.raises(ConfigError, match=r"index\.json is damaged"):
        runs.open_run(copy)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "[]"),
        ("config.json", "{}"),
        ("config.json", '{"study": "x", "train.epochs": "ten"}'),
        ("members.json", "[]"),
        ("members.json", "{}"),
        ("members.json", '[{"name": "a"}]'),
        ("members.json", "7"),
    ],
)
def test_files_that_hold_something_else_are_damaged(
    exported: tuple[Path, Learner], tmp_path: Path, name: str, content: str
) -> None:
    copy = shutil.copytree(exported[0], tmp_path / "copy", ignore=lambda *_: {runs.SNAPSHOTS})
    (copy / name).write_text(content)
    with pytest.raises(ConfigError):
        runs.open_run(copy)


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "other", "endless", "nan"])
def test_what_is_not_the_network_is_refused(
    damage: str, exported: tuple[Path, Learner], tmp_path: Path
) -> None:
    file = exported[0] / weights.FOLDER / f"{NAMES[0]}.npz"
    run = runs.open_run(exported[0])
    folder = tmp_path / weights.FOLDER
    folder.mkdir()
    content = bytearray(file.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[len(content) // 2] ^= 255
    elif damage == "endless":  # a header that announces more than any memory holds
        content = endless()
    elif damage == "nan":
        with np.load(file) as stored:
            arrays: Any = {name: stored[name] for name in stored.files}
        next(x for name, x in arrays.items() if name.startswith("batch_stats"))[0] = np.nan
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        content = bytearray(packed.getvalue())
    if damage != "missing":
        (folder / file.name).write_bytes(content)
    if damage == "other":
        run = with_channels(run, 8)
    run = dataclasses.replace(run, directory=tmp_path, members=run.members[:1], iterations=(0, 7))
    with pytest.raises(ConfigError) as caught:
        runs.networks(run)
    words = {"missing": "is missing", "other": "another network"}.get(damage, "is damaged")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def endless() -> bytearray:
    """An archive of one array whose header announces 10^15 numbers."""
    header, packed = io.BytesIO(), io.BytesIO()
    described = {"descr": "<f4", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(header, described)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("params/conv/kernel.npy", header.getvalue())
    return bytearray(packed.getvalue())


def test_no_changed_byte_is_a_surprise(tmp_path: Path) -> None:
    path, chance = tmp_path / "one.npz", random.Random(0)
    files.write_arrays(path, {"kernel": np.arange(9.0), "bias": np.zeros(3)})
    whole, outcomes = path.read_bytes(), set()
    for _ in range(1500):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content[: chance.choice((None, len(content) // 2))])
        try:
            files.read_arrays(path, ("kernel", "bias"), "make it again")
            outcomes.add("read")
        except ConfigError as error:
            outcomes.add(str(error).partition(" (")[0])
    assert outcomes == {"read", f"{path} is damaged"}


def with_channels(run: Run, channels: int) -> Run:
    """A run whose settings describe a network of another size."""
    return dataclasses.replace(run, spec=small.small_spec({"network.channels": channels}))
