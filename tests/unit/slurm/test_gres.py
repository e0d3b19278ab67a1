"""Generic resources and gres.conf."""

from __future__ import annotations

from typing import Any

import pytest
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres, gres_conf, node_gres, parse_gres

FOUR = [{"file": f"/dev/nvidia{number}", "type": "a100"} for number in range(4)]


@pytest.mark.parametrize(
    ("item", "gres"),
    [
        ("gpu:4", Gres("gpu", "4")),
        ("gpu:a100:4", Gres("gpu", "4", "a100")),
        ("gpu:nvidia_h100_80gb_hbm3:2", Gres("gpu", "2", "nvidia_h100_80gb_hbm3")),
        ("gpu:a100:4(S:0-1)", Gres("gpu", "4", "a100")),
        ("gpu", Gres("gpu", "1")),
        ("tmpdisk:100G", Gres("tmpdisk", "100G")),
        (
            {"name": "gpu", "type": "mi250", "file": "/dev/dri/renderD[128-129]"},
            Gres("gpu", "2", "mi250", ("/dev/dri/renderD128", "/dev/dri/renderD129")),
        ),
    ],
)
def test_parse(item: Any, gres: Gres) -> None:
    assert parse_gres(item) == gres


@pytest.mark.parametrize("item", ["gpu:a:b:c", ":4", "4", "", {"type": "a100"}, {"name": "gpu", "cores": 1}])
def test_parse_refuses(item: Any) -> None:
    with pytest.raises(SlurmConfigError):
        parse_gres(item)


def test_what_the_node_shows_is_enough() -> None:
    assert [str(gres) for gres in node_gres(None, FOUR)] == ["gpu:a100:4"]
    assert [str(gres) for gres in node_gres(None, [{"file": "/dev/nvidia0", "type": None}])] == ["gpu:1"]
    assert node_gres(None, None) == node_gres(None, []) == []


def test_the_site_gives_types_the_node_gives_files() -> None:
    found = node_gres("gpu:a100:3,gpu:small:1", FOUR)
    assert [(str(gres), gres.files) for gres in found] == [
        ("gpu:a100:3", ("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2")),
        ("gpu:small:1", ("/dev/nvidia3",)),
    ]


# SLM-36
def test_a_node_may_hold_whole_gpus_and_parts_of_others() -> None:
    names = ("nvidia_h100_80gb_hbm3", "nvidia_h100_80gb_hbm3_4g.40gb")
    shown = [{"file": f"/dev/nvidia{number}", "type": names[number // 2]} for number in range(4)]
    assert [str(gres) for gres in node_gres(None, shown)] == [f"gpu:{name}:2" for name in names]
    assert [str(gres) for gres in node_gres(",".join(f"gpu:{name}:2" for name in names), None)] == [
        f"gpu:{name}:2" for name in names
    ]


# SLM-27
def test_a_gpu_that_is_promised_and_absent() -> None:
    with pytest.raises(SlurmConfigError, match="promises gpu:a100:8, but the node shows 4 GPU device files"):
        node_gres("gpu:a100:8", FOUR)
    # A node that was never asked is not contradicted.
    assert [str(gres) for gres in node_gres("gpu:a100:8", None)] == ["gpu:a100:8"]


# SLM-28, SLM-29, SLM-30, SLM-32
def test_every_line_names_its_nodes() -> None:
    gpus = node_gres(None, FOUR)
    nodes = {"g1": gpus, "g2": gpus, "c1": [], "d1": [Gres("tmpdisk", "100G")], "m1": gpus}
    assert gres_conf(nodes, autodetect=["m1"]) == (
        "NodeName=g[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"
        "NodeName=d1 Name=tmpdisk Count=100G\n"
        "NodeName=m1 AutoDetect=nvml\n"
    )
