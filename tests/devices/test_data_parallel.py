"""One and eight devices train the same model: only the order of additions differs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from padir.files import read_bundle
from tests.training import tiny_spec, train_arguments, write_toy


def test_one_and_eight_devices_agree(tmp_path: Path) -> None:
    arrays, losses = [], []
    for devices in (1, 8):
        folder = tmp_path / str(devices)
        folder.mkdir()
        write_toy(folder)
        arguments = train_arguments(folder, tiny_spec(buckets=[9]))
        command = [sys.executable, "-m", "padir", "train", *arguments]
        flags = f"--xla_force_host_platform_device_count={devices}"
        subprocess.run(
            command,
            check=True,
            env={**os.environ, "XLA_FLAGS": flags},
        )
        provenance = json.loads((folder / "provenance.json").read_text())
        assert len(provenance["devices"]) == devices
        arrays.append(read_bundle(folder / "bundle").arrays)
        lines = (folder / "work" / "metrics.jsonl").read_text().splitlines()
        losses.append([json.loads(line).get("valid_loss") for line in lines])
    # Twelve Adam steps of at most 0.03 each; rounding may turn a near-zero gradient's sign.
    for name, one in arrays[0].items():
        np.testing.assert_allclose(arrays[1][name], one, atol=2e-3, err_msg=name)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
