"""Domains in files: a map with settings, or arrays in an `.npz`; round trips and faults."""

import json
import zipfile

import numpy as np
import pytest

import pdrm
from pdrm.domains import load_domain, names, save_domain
from pdrm.domains.domain_files import domain_bytes
from pdrm.errors import (
    BadArrays,
    BadDomainFile,
    BadDomainSetting,
    NoStart,
    PdrmError,
    RaggedMap,
    UnknownPlace,
)
from tests.contracts import check_domain
from tests.domains.walks import walk, words

ROOMS = """// rooms
name        two-rooms
step_limit  50          // steps
place       k key
start       o
directions  yes
step_reward -0.5

#####
#@.k#
#.#.#
#o..#  // a comment
#####
"""


def written(path, text):
    path.write_text(text)
    return path


def test_a_map_with_settings(tmp_path):
    rooms = load_domain(written(tmp_path / "rooms.txt", ROOMS))
    check_domain(rooms)
    assert (rooms.name, rooms.step_limit, rooms.states) == ("two-rooms", 50, 8)
    assert rooms.events == ("u", "d", "l", "r", "key", "o")
    assert len(rooms.arrays.start_state) == 2
    labels, paid = walk(rooms, "rr")
    assert (words(labels), paid) == (["r", "r+key"], -1.0)


def test_a_bare_map_emits_its_characters(tmp_path):
    kitchen = load_domain(written(tmp_path / "kitchen.txt", "@.c\n#.t\n"))
    assert (kitchen.name, kitchen.events, kitchen.step_limit) == ("kitchen", ("c", "t"), 300)
    assert words(walk(kitchen, "rrd")[0]) == ["", "c", "t"]


def test_slippery_maps(tmp_path):
    """A slipping step goes to either side with equal probability; 2/3 is FrozenLake."""
    drawn = "#####\n#a.b#\n#.@c#\n#####"
    plain, slips, ice = (
        load_domain(written(tmp_path / "map.txt", f"{setting}\ndirections no\n{drawn}"))
        for setting in ("slip 0", "slip 0.2", f"slip {2 / 3}")
    )
    assert plain.arrays.next.shape == (6, 4, 1)
    start, up, right = slips.state_names.index("row 2, column 2"), 0, 3

    def reached(domain, action):
        arrays = domain.arrays
        rows = zip(
            arrays.next[start, action],
            arrays.probability[start, action],
            arrays.label[start, action],
            strict=True,
        )
        return {
            (domain.describe(x), round(float(p), 9), *domain.labels[label]) for x, p, label in rows
        }

    assert reached(slips, up) == {
        ("row 1, column 2", 0.8),
        ("row 2, column 1", 0.1),
        ("row 2, column 3", 0.1, "c"),
    }
    assert reached(slips, right) == {
        ("row 2, column 3", 0.8, "c"),
        ("row 1, column 2", 0.1),
        ("row 2, column 2", 0.1),
    }
    assert {chance for _, chance, *_ in reached(ice, up)} == {round(1 / 3, 9)}
    told = load_domain(
        written(
            tmp_path / "map.txt",
            f"slip 0.2\ndirections yes\nplace a x\nplace b y\nplace c w\n{drawn}",
        )
    )
    assert {"l", "w", "r"} < {
        event for row in reached(told, up) for event in row[2:]
    }  # the actual direction


def test_faulty_map_files(tmp_path):
    for text, error, place in [
        ("step_limt 5\n@.k", BadDomainSetting, (1, 1)),
        ("@.k\n#  #", BadDomainSetting, (2, 1)),
        ("step_limit 0\n@.k", BadDomainSetting, (1, 1)),
        ("step_limit 99999999999999999999\n@.k", BadDomainSetting, (1, 1)),
        (f"step_limit {'9' * 5000}\n@.k", BadDomainSetting, (1, 1)),
        ("step_limit 9\nstep_limit 8\n@.k", BadDomainSetting, (2, 1)),
        ("place k gem\n place k exit\n@.k", BadDomainSetting, (2, 2)),
        ("lowest 5\nhighest 1\n@.k", BadDomainSetting, (2, 1)),
        ("slip 1.5\n@.k", BadDomainSetting, (1, 1)),
        ("step_limit = 9\n@.k", BadDomainSetting, (1, 1)),
        ("#@ k#", BadDomainSetting, (1, 1)),
        ("# a comment\n@.k", BadDomainSetting, (1, 1)),
        ("slip ice\n@.k", BadDomainSetting, (1, 1)),
        ("directions maybe\n@.k", BadDomainSetting, (1, 1)),
        ("step_reward inf\n@.k", BadDomainSetting, (1, 1)),
        ("place key k\n@.k", BadDomainSetting, (1, 1)),
        ("place # wall\n@.k", BadDomainSetting, (1, 1)),
        ("place . dot\n@.k", BadDomainSetting, (1, 1)),
        ("place @ dot\n@.k", BadDomainSetting, (1, 1)),
        ("start kk\n@.k", BadDomainSetting, (1, 1)),
        ("name a b\n@.k", BadDomainSetting, (1, 1)),
        ("u -> v : a, # / #, 1\n@.k", BadDomainSetting, (1, 1)),
        ("directions yes\n@.d", BadDomainSetting, None),
        ("place m mail\n@.k", UnknownPlace, (1, 7)),
        ("start m\n@.k", UnknownPlace, (1, 7)),
        ("..k", NoStart, (1, 1)),
        ("@.k\n..", RaggedMap, (2, 3)),
        ("step_limit 5", RaggedMap, None),
    ]:
        with pytest.raises(error) as caught:
            load_domain(written(tmp_path / "map.txt", text))
        where = caught.value.where
        assert (where and (where.line, where.column)) == place, text
        assert caught.value.fix


def test_what_was_saved_is_loaded_again(tmp_path):
    for name in names():
        domain = pdrm.domain(name)
        save_domain(domain, tmp_path / "copy.npz")
        again = load_domain(tmp_path / "copy.npz")
        assert domain_bytes(again) == domain_bytes(domain)
        for field in (
            "name",
            "labels",
            "events",
            "actions",
            "step_limit",
            "state_names",
            "picture",
            "machine",
            "lowest",
        ):
            assert getattr(again, field) == getattr(domain, field)
        for one, other in zip(again.arrays, domain.arrays, strict=True):
            assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
        assert [test.name for test in again.tests] == [test.name for test in domain.tests]


def npz(path, without=(), **changed):
    """A file with only the required arrays, made without this package."""
    said = {"labels": [[], ["end"]], "step_limit": 10} | changed.pop("words", {})
    arrays = {
        "next": [[0, 1], [0, 1]],
        "label": [[0, 1], [0, 0]],
        "words": json.dumps(said),
    } | changed
    np.savez(
        path, **{name: np.array(value) for name, value in arrays.items() if name not in without}
    )
    return path


def test_arrays_written_elsewhere(tmp_path):
    line = load_domain(npz(tmp_path / "line.npz"))
    check_domain(line)
    assert (line.name, line.states, line.actions, line.events) == ("line", 2, ("0", "1"), ("end",))
    two = load_domain(
        npz(
            tmp_path / "two.npz",
            start_state=[0, 1],
            start_probability=[0.5, 0.5],
            start_label=[-1, 1],
        )
    )
    assert two.arrays.start_label.tolist() == [-1, 1]


def test_faulty_array_files(tmp_path):
    for changed, error, message in [
        (
            {"next": [[0, 2], [0, 1]]},
            BadArrays,
            "bad.npz: domain `bad`: next is 2 at state 0, action 1",
        ),
        ({"reward": [[0, 0], [0, np.nan]]}, BadArrays, "reward is nan at state 1, action 1"),
        ({"without": ("label",)}, BadDomainFile, "'label'"),
        ({"without": ("words",)}, BadDomainFile, "it has no 'words'"),
        ({"words": {"step_limit": 0}}, BadDomainSetting, "bad.npz: .*step limit"),
        ({"words": {"labels": "end"}}, BadDomainFile, "labels"),
        ({"words": {"labels": [[], [1]]}}, BadDomainFile, "labels"),
        ({"words": {"lowest": "low"}}, BadDomainFile, "`lowest`"),
        ({"words": {"pdrm_domain": 9}}, BadDomainFile, "version 9"),
        (
            {"start_state": [0.5], "start_probability": [1.0], "start_label": [-1]},
            BadDomainFile,
            "bad.npz",
        ),
    ]:
        with pytest.raises(error, match=message) as caught:
            load_domain(npz(tmp_path / "bad.npz", **changed))
        assert caught.value.fix


def test_damaged_files_are_noticed(tmp_path):
    save_domain(pdrm.domain("letter"), tmp_path / "letter.npz")
    whole = (tmp_path / "letter.npz").read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", b"PK", whole[:100], whole[:-50], b"not arrays", flipped):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(BadDomainFile, match=r"damaged\.npz"):
            load_domain(tmp_path / "damaged.npz")


def test_code_in_a_file_is_not_run(tmp_path):
    np.savez(tmp_path / "code.npz", next=np.array([[print]], object), allow_pickle=True)
    with pytest.raises(BadDomainFile):
        load_domain(tmp_path / "code.npz")


def test_files_without_an_end_and_files_that_claim_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("pdrm.domains.domain_files.MAX_DOMAIN_BYTES", 2**20)
    with pytest.raises(PdrmError, match="more than 1,048,576 bytes"):
        load_domain("/dev/zero")
    with pytest.raises(PdrmError, match="more than 4,194,304 bytes"):
        pdrm.domains.read_map("/dev/zero")
    with pytest.raises(PdrmError, match="250,000 cells"):
        pdrm.domains.parse_map("@" + "." * 9_999 + ("\n" + "." * 10_000) * 25)
    text = repr({"descr": "<i4", "fortran_order": False, "shape": (10**12,)}).encode()
    with zipfile.ZipFile(tmp_path / "claims.npz", "w") as archive:
        archive.writestr("next.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(PdrmError, match="damaged"):
        load_domain(tmp_path / "claims.npz")
