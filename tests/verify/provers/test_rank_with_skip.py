"""The rank beside the skip connection is another one than that of the heads alone."""

from pathlib import Path
from typing import Any

from tests.memories import memory, random_task, write_memory
from tests.verify.provers.test_rank_heads import PROVED, REFUTED, both, ranks, verdict_if, write
from verify.certificates.certificate import RANK_HEADS, RANK_WITH_SKIP, Certificate


@both
def test_the_rank_of_the_heads_is_not_that_with_the_skip_connection(tmp_path: Path, check: Any) -> None:
    task = random_task(target="labels")
    write(tmp_path, memory(task, n_heads=2), task)
    assert ranks(tmp_path, RANK_HEADS) == (4, 4, 4) and ranks(tmp_path, RANK_WITH_SKIP) == (8, 8, 8)
    assert verdict_if(check, tmp_path, RANK_HEADS) is PROVED is verdict_if(check, tmp_path, RANK_WITH_SKIP)
    assert verdict_if(check, tmp_path, RANK_WITH_SKIP, lower=9, upper=9, all_weights_upper=9) is REFUTED
    assert verdict_if(check, tmp_path, RANK_WITH_SKIP, lower=7, upper=7, all_weights_upper=8) is REFUTED


@both
def test_rows_that_are_independent_beside_the_skip_connection_need_not_be_so_alone(tmp_path: Path, check: Any) -> None:
    task = random_task(target="labels", facts=6)
    everything = {"rank_of_heads": True, "rank_with_skip": True}
    for n_heads, columns in ((2, 4 + 6), (4, 8)):
        write_memory(tmp_path, memory(task, n_heads=n_heads), task, rank=True, **everything)
        assert Certificate.load(tmp_path).statement("feature-rank").values["columns"] == columns  # type: ignore[union-attr]
        alone = min(6, 2 * n_heads)
        assert (ranks(tmp_path, RANK_HEADS), ranks(tmp_path, RANK_WITH_SKIP)) == ((alone,) * 3, (6, 6, 6))
        assert [each.verdict for each in check(tmp_path).checks[2:]] == [PROVED] * 3
        assert verdict_if(check, tmp_path, RANK_WITH_SKIP, lower=5, upper=5) is REFUTED
