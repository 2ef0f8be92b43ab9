"""The names that the packages offer."""

import importlib
import pkgutil

import pytest

import byheart
import constructions
import verify

PACKAGES = (byheart, constructions, verify)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_documented(package):
    for name in package.__all__:
        value = getattr(package, name)
        assert getattr(value, "__doc__", None), name
        assert name in dir(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_hides_a_module(package):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules.isdisjoint(package.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_is_for(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            assert importlib.import_module(module.name).__doc__, module.name


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = package.nothing_of_the_kind
