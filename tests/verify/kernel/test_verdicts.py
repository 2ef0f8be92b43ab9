"""Each end of a check has an exit code and a word of its own."""

from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError


def test_exit_codes_and_words_are_all_different() -> None:
    kinds = (NotProvedError, BadInputError, UndecidedError)
    assert [kind.exit_code for kind in kinds] == [1, 2, 3]
    assert len({kind.word for kind in kinds}) == 3


def test_bad_input_names_file_and_field() -> None:
    assert str(BadInputError("a.json", "b", "is not c")) == "a.json: b is not c"
