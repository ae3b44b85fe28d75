"""The documented import path of the expectations of Great Expectations."""

from __future__ import annotations

import pytest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("great_expectations_is_there")
def test_the_documented_path_has_the_names_of_the_integration() -> None:
    """It offers every public name of the module that defines the expectations, and these very objects."""
    from anonkit.checks import expectations
    from anonkit.integrations.great_expectations import class_expectations

    defined = {
        name
        for name, value in vars(class_expectations).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == class_expectations.__name__
    }
    assert set(expectations.__all__) == defined | {"RowCondition"}
    assert all(getattr(expectations, name) is getattr(class_expectations, name) for name in expectations.__all__)
