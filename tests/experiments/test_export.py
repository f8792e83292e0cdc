"""An archive holds what it says, fits, and can be played against when it is unpacked."""

import hashlib
import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from experiments import export
from experiments.results import data
from jaxzero import arguments, runs, workdir
from jaxzero.runs import Member, weights
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings.config import ConfigError
from tests import small

MEMBERS = [("sum_seed0", "sum", 0), ("sum_seed1", "sum", 1), ("value_seed0", "value", 0)]
BY_IMPORTANCE = ["sum_seed0", "value_seed0", "sum_seed1"]
RNG = np.random.default_rng(0)
OTHERS = {  # incompressible, so that sizes are what they seem
    "report.html": RNG.bytes(30_000),
    "games/final.npz": RNG.bytes(10_000),
    "figures/losses.png": RNG.bytes(20_000),
    "figures/losses.svg": RNG.bytes(5_000),
}
CORE = {"config.json", "environment.json", "results.json", "ladder.json", "metrics.jsonl"}
ALWAYS = CORE | {"members.json", "weights/index.json"}


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as a study leaves it, with made-up results."""
    directory = tmp_path_factory.mktemp("runs") / "quick"
    config = small.small_config()
    workdir.claim(directory, config, "test")
    members = [
        Member(n, t, s, small.small_config({"train.loss": t, "seed": s})) for n, t, s in MEMBERS
    ]
    runs.write_members(directory, config, members)
    networks = [small.compiled_init(small.small_spec())(10 + i).learner for i in range(3)]
    stacked = jax.tree.map(lambda *x: np.stack(x), *map(runs.without_optimiser, networks))
    snapshots = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
    snapshots.save(5, stacked)
    snapshots.close()
    for name in CORE - {"config.json"}:
        (directory / name).write_text(json.dumps({"made": "up", "study": "test"}) + "\n")
    for name, content in OTHERS.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)
    (directory / "tracking.json").write_text("{}")
    (directory / "wandb").mkdir()
    (directory / "wandb" / "log").write_text("not for the archive")
    return directory


def files_in(archive: Path) -> dict[str, bytes]:
    """Contents by path."""
    with zipfile.ZipFile(archive) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The command's exit status."""
    monkeypatch.setattr(sys, "argv", ["export", *words])
    try:
        arguments.run(export.main)
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def test_everything_that_fits(
    run_directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, str(run_directory)) == 0
    archive = tmp_path / "quick.zip"
    files = files_in(archive)
    networks = {f"weights/{name}.npz" for name, _, _ in MEMBERS}
    expected = {*ALWAYS, *networks, *OTHERS, "manifest.json"}
    assert files.keys() == {f"quick/{name}" for name in expected}
    for name in (*CORE, *OTHERS):
        assert files[f"quick/{name}"] == (run_directory / name).read_bytes()
    manifest = json.loads(files["quick/manifest.json"])
    assert manifest["dropped"] == []
    assert (manifest["study"], manifest["iteration"]) == ("test", 5)
    listed = {entry["file"]: entry for entry in manifest["files"]}
    assert listed.keys() == expected - {"manifest.json"}
    for name, entry in listed.items():
        content = files[f"quick/{name}"]
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["bytes"] == len(content)
    assert "left out" not in capsys.readouterr().err
    assert call(monkeypatch, f"--read={archive}") == 0
    assert "sum_seed1.npz" in capsys.readouterr().out
    again = export.make(run_directory, 16)
    assert again.archive == archive.read_bytes()  # the same run, the same archive


def test_the_unpacked_archive_is_a_run(run_directory: Path, tmp_path: Path) -> None:
    export.write(run_directory, tmp_path / "archive.zip", 16)
    shutil.unpack_archive(tmp_path / "archive.zip", tmp_path / "elsewhere")
    original, unpacked = (
        runs.open_run(folder) for folder in (run_directory, tmp_path / "elsewhere" / "quick")
    )
    assert unpacked.members == original.members
    assert unpacked.spec == original.spec
    assert unpacked.iterations == (0, 5)
    ours, theirs = runs.networks(unpacked).params, runs.networks(original).params
    for rounded, exact in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(rounded, exact, rtol=2**-8)
    repacked = export.make(tmp_path / "elsewhere" / "quick", 16)  # and can be exported again
    first, second = (
        {item.path: item.content for item in packed.kept}
        for packed in (export.make(run_directory, 16), repacked)
    )
    assert first == second


def test_networks_are_recorded_where_they_are_asked_for(
    run_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    place = docs / "data" / "laptop" / "quick"
    data.add([run_directory], "laptop", docs, networks_mib=16)
    archive = place / data.NETWORKS
    assert {entry["file"] for entry in export.read(archive)["files"]}.isdisjoint(OTHERS)
    [recorded] = data.read(docs)["laptop"]
    assert recorded.networks == archive
    shutil.unpack_archive(archive, tmp_path / "runs")
    ours, theirs = (
        runs.networks(runs.open_run(at)).params for at in (tmp_path / "runs/quick", run_directory)
    )
    for rounded, exact in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(rounded, exact, rtol=2**-8)
    taken = sum(path.stat().st_size for path in place.iterdir())
    monkeypatch.setattr(data, "MOST", taken)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "results.json").write_text("{}")
    with pytest.raises(ConfigError, match="leave out runs"):  # an archive counts
        data.add([tmp_path / "other"], "laptop", docs)
    data.add([run_directory], "laptop", docs)
    assert not archive.exists()
    with pytest.raises(ConfigError, match="other"):  # holds no networks
        data.add([tmp_path / "other"], "laptop", docs, networks_mib=1)


def test_what_does_not_fit_is_left_out_from_the_end_of_the_list(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    importance = [*(f"weights/{name}.npz" for name in BY_IMPORTANCE), *OTHERS]
    size = len(export.make(run_directory, 16).archive)
    seen = set()
    while True:
        try:
            made = export.make(run_directory, size / 2**20)
        except ConfigError:  # too small for one network
            break
        assert len(made.archive) <= size
        kept = {item.path for item in made.kept}
        assert kept >= ALWAYS
        dropped = [item.path for item in made.dropped]
        assert dropped == [path for path in importance if path not in kept]
        archive = tmp_path / f"{size}.zip"
        archive.write_bytes(made.archive)
        manifest = export.read(archive)
        assert [entry["file"] for entry in manifest["dropped"]] == dropped
        in_archive = [p for p in importance if p in kept and p.startswith("weights/")]
        assert in_archive == importance[: len(in_archive)]
        shutil.unpack_archive(archive, tmp_path / str(size))
        run = runs.open_run(tmp_path / str(size) / "quick")
        names = [n for n, _, _ in MEMBERS if f"weights/{n}.npz" in in_archive]
        assert [member.name for member in run.members] == names
        assert len(jax.tree.leaves(runs.networks(run))[0]) == len(names)
        seen.add(len(in_archive))
        size = len(made.archive) - 1  # something more has to go
    assert seen == {1, 2, 3}


def test_the_size_that_is_named_is_enough(run_directory: Path) -> None:
    with pytest.raises(ConfigError, match="and one network take") as refused:
        export.make(run_directory, 0.001)
    found = re.search(r"take ([\d.]+);", str(refused.value))
    assert found is not None
    least = float(found[1])
    assert len(export.make(run_directory, least).archive) <= least * 2**20
    with pytest.raises(ConfigError, match="and one network take"):
        export.make(run_directory, least - 0.002)


def test_every_file_that_is_left_out_is_named(
    run_directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    limit = len(export.make(run_directory, 16).archive) / 2**20 - 0.01
    archive = tmp_path / "small.zip"
    words = (str(run_directory), f"--to={archive}", f"--max-mib={limit:.3f}")
    assert call(monkeypatch, *words) == 0
    said = capsys.readouterr().err.splitlines()
    dropped = [entry["file"] for entry in export.read(archive)["dropped"]]
    assert dropped
    assert [line for line in said if "left out" in line] == [
        f"left out, --max-mib={limit:.3f}: {name} ({len(OTHERS[name]):,} bytes)".replace(
            f"{limit:.3f}", f"{float(f'{limit:.3f}'):g}"
        )
        for name in dropped
    ]


def test_bad_input_is_one_line(
    run_directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "there.zip").write_bytes(b"mine")
    untrained = tmp_path / "untrained"
    shutil.copytree(run_directory, untrained)
    shutil.rmtree(untrained / runs.SNAPSHOTS)
    run = str(run_directory)
    for words, message in (
        ([str(tmp_path)], "is no run directory (config.json is missing)"),
        ([str(untrained)], "has no trained networks yet"),
        ([run, f"--to={tmp_path}/there.zip"], "exists already: choose another name"),
        ([run, f"--to={tmp_path}/no/such.zip"], "can't be written"),
        ([run, f"--to={tmp_path}/new.zip", "--max-mib=0.001"], "one network take"),
        ([run, "--max-mib=0"], "--max-mib=0: choose a size above 0"),
        ([run, "--max-mib=inf"], "--max-mib=inf: choose a size above 0"),
        ([run, "--max-mb=3"], "did you mean --max-mib?"),
        ([f"--read={tmp_path}/there.zip", "--to=x.zip"], "--to=x.zip: --read writes nothing"),
        ([f"--read={tmp_path}/there.zip", "--max-mib=1"], "--max-mib=1.0: --read writes nothing"),
        ([], "give either a run directory, or --read=FILE"),
        ([f"--read={tmp_path}/there.zip"], "is no whole archive"),
        ([f"--read={tmp_path}/nothing.zip"], "there is no such file"),
    ):
        assert call(monkeypatch, *words) == 2, words
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert said.startswith("error: ")
        assert message in said
    assert (tmp_path / "there.zip").read_bytes() == b"mine"
    assert not (tmp_path / "new.zip").exists()


def test_the_same_command_again_finds_its_archive(run_directory: Path, tmp_path: Path) -> None:
    """As after a kill that came when the archive was written."""
    archive = tmp_path / "archive.zip"
    first = export.write(run_directory, archive, 16)
    assert export.write(run_directory, archive, 16) == first
    with pytest.raises(ConfigError, match="exists already"):
        export.write(run_directory, archive, 0.01)
    assert archive.read_bytes() == first.archive


@pytest.mark.parametrize("damage", ["cut", "flipped", "replaced", "missing"])
def test_a_damaged_archive_is_noticed(damage: str, run_directory: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive.zip"
    export.write(run_directory, archive, 16)
    content = bytearray(archive.read_bytes())
    if damage == "cut":
        archive.write_bytes(content[:-1000])
    elif damage == "flipped":
        content[len(content) // 2] ^= 255
        archive.write_bytes(content)
    else:
        files = files_in(archive)
        if damage == "missing":
            del files["quick/report.html"]
        else:
            files["quick/results.json"] = b"{}"
        with zipfile.ZipFile(archive, "w") as packed:
            for name, data in files.items():
                packed.writestr(name, data)
    with pytest.raises(ConfigError, match=r"damaged|no whole archive"):
        export.read(archive)


@pytest.mark.parametrize(
    "manifest",
    [
        "[]", '{"files": null}', '{"files": [1]}', '{"files": []}', "[" * 100_000,
        '{"files": [{"file": "a", "sha256": "", "bytes": 1000000000}]}',
    ],
)  # fmt: skip
def test_an_archive_that_says_something_else_is_one_line(manifest: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as packed:
        packed.writestr("quick/a", "small")
        packed.writestr(f"quick/{export.MANIFEST}", manifest)
    with pytest.raises(ConfigError, match="is no whole archive of a run") as told:
        export.read(tmp_path / "odd.zip")
    assert "\n" not in str(told.value)


def test_weights_hold_the_newest_networks(run_directory: Path) -> None:
    made: dict[str, Any] = {item.path: item.content for item in export.make(run_directory, 16).kept}
    index = json.loads(made[f"{weights.FOLDER}/{weights.INDEX}"])
    assert index["iteration"] == 5
    assert index["members"] == [name for name, _, _ in MEMBERS]
