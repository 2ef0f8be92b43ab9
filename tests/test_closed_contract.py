"""The contract of the core notices an import that leads out of its list, and a module that is gone."""

import grimp
import pytest

from tests import closed_contract
from tests.closed_contract import ClosedContract


@pytest.mark.parametrize(
    ("modules", "kept"), [(["p.a", "p.b"], True), (["p.a"], False), (["p.b"], True), (["p.b", "p.gone"], False)]
)
def test_only_a_list_that_is_closed_under_imports_is_kept(monkeypatch, modules, kept):
    graph = grimp.ImportGraph()
    for importer, imported in (("p.a", "p.b"), ("p.b", "numpy"), ("p.c", "p.a")):
        graph.add_import(importer=importer, imported=imported)
    monkeypatch.setattr(closed_contract, "run_time_graph", lambda packages: graph)
    session = {"root_packages": ["p"]}
    contract = ClosedContract(name="core", session_options=session, contract_options={"modules": modules})
    assert contract.check(graph, verbose=False).kept is kept
