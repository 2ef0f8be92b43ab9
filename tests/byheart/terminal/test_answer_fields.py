"""What is proved of margins, losses and a guess, with the words of a screen."""

from byheart.terminal.answer_fields import answer_fields

FIGURES = {
    "margin_lower": 0.123456,
    "mean_loss_upper": 0.123456,
    "max_loss_upper": None,
    "guess_kl_lower": 1.0,
    "guess_right": 5,
    "facts": 9,
}


def test_each_figure_has_its_words_its_unit_and_what_it_bounds():
    said = {field.name: field.text() for field in answer_fields(FIGURES) if field.value is not None}
    assert said == {
        "margin_lower": "at least 0.1234 nats",
        "mean_loss_upper": "at most 0.1235 nats",
        "guess_kl_lower": "at least 1 nats",
        "guess_right": "at most 5",
    }


def test_values_have_distances_without_a_unit_and_what_is_not_given_is_not_there():
    [field] = answer_fields({"mean_loss_upper": 0.5}, target="values")
    assert (field.words, field.text()) == ("distance from the values, mean", "at most 0.5")
