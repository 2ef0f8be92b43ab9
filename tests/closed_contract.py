"""A contract of imports: the modules of a list import one another, and nothing else of the project."""

import grimp
from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def run_time_graph(packages: list[str]) -> ImportGraph:
    """Return what imports what when it runs."""
    return grimp.build_graph(*packages, exclude_type_checking_imports=True)


class ClosedContract(Contract):
    """The modules of the list `modules` are closed under imports.

    A module that is added to one of them has to be added to the list, or looked for by its name, as a plug-in. What is
    imported for its types alone (`if TYPE_CHECKING:`) is not needed to run, and does not count.
    """

    type_name = "closed"
    modules = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return whether they are, with the imports that lead out of the list."""
        graph = run_time_graph(self.session_options["root_packages"])
        listed = set(self.modules)
        missing = sorted(listed - graph.modules)
        leaving = sorted(
            f"{module} -> {imported}"
            for module in listed & graph.modules
            for imported in graph.find_modules_directly_imported_by(module)
            if imported.partition(".")[0] in self.session_options["root_packages"] and imported not in listed
        )
        return ContractCheck(kept=not missing and not leaving, metadata={"missing": missing, "leaving": leaving})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what is missing, and the imports that lead out of the list."""
        for module in check.metadata["missing"]:
            output.print_error(f"- {module} is listed, and is not there")
        for arrow in check.metadata["leaving"]:
            output.print_error(f"- {arrow}, which is not listed")
