"""What the models of `train.py` are proved to compute, and what it costs beside plain float64 forwards.

python benchmarks/trained/certify.py FOLDER     needs torch
"""

import os
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported

import rules  # noqa: E402
import torch  # noqa: E402
from train import TRAININGS, domain, wrong  # noqa: E402

from byheart.hosts.certify import certify_rule  # noqa: E402
from byheart.hosts.number_types import read_tensors  # noqa: E402


def main() -> None:
    """Print a line for each model: the seconds of the proof and of float64 forwards, and what a sample finds."""
    torch.set_num_threads(1)
    print("model,inputs,parameters,wrong,seconds,float64,ratio,wrong of a sample")
    certify_rule(Path(sys.argv[1]) / "maximum", "max", handshake=False)  # once to warm up
    for name, t in TRAININGS.items():
        inputs, goal = domain(t, name)
        given = {"length": t.length, "tokens": t.tokens, "after": [t.tokens] if t.after else [], "handshake": False}
        for folder in (Path(sys.argv[1]) / name, Path(sys.argv[1]) / f"{name}_nearly"):
            tensors, _ = read_tensors(folder / "model.safetensors")
            w = {each: torch.tensor(tensor) for each, tensor in tensors.items()}
            began = time.process_time()
            in_float64 = wrong(t, w, inputs, goal)
            plain, began = time.process_time() - began, time.process_time()
            figures = certify_rule(folder, getattr(rules, name), **given)
            seconds = time.process_time() - began
            sampled = certify_rule(folder, getattr(rules, name), sample=10_000, **given) if len(goal) > 10_000 else {}
            assert figures["wrong"] == in_float64 and not figures["undecided"]
            print(
                folder.name, len(goal), figures["parameters"], figures["wrong"], f"{seconds:.2f}", f"{plain:.2f}",
                f"{seconds / plain:.2f}", sampled.get("wrong", ""), sep=",",
            )  # fmt: skip


if __name__ == "__main__":
    main()
