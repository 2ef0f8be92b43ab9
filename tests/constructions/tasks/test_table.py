"""A table of facts becomes a task: what is a token, what a weight, and what is refused with its line."""

import pytest

from constructions.errors import InputError
from constructions.tasks.table import read_table, sniff_table, sniffed_task, table_task


def named(task):
    return {
        tuple(task.vocabulary[t] for t in context): task.answers[label]
        for context, label in zip(task.contexts, task.labels, strict=True)
    }


def test_each_row_is_a_fact():
    task = table_task('Peru,capital,Lima\n"Korea, South",capital,Seoul\n\nPeru,river,Amazon\n')
    assert named(task) == {
        ("Peru", "capital"): "Lima",
        ("Korea, South", "capital"): "Seoul",
        ("Peru", "river"): "Amazon",
    }
    assert task.vocabulary == ("Peru", "capital", "Korea, South", "river")
    assert task.answers == ("Lima", "Seoul", "Amazon")
    assert task.target == "labels" and task.n_all == 3


def test_an_answer_that_is_read_too_has_a_number_on_each_side():
    task = table_task("b,a\na,b\na b,c\n")
    assert (task.vocabulary, task.answers) == (("b", "a", "a b"), ("a", "b", "c"))
    assert named(task) == {("b",): "a", ("a",): "b", ("a b",): "c"}
    assert named(task.in_one_vocabulary()) == named(task)
    assert task.in_one_vocabulary().answers == task.in_one_vocabulary().vocabulary == ("b", "a", "a b", "c")


def test_a_table_that_answers_the_tokens_that_it_reads_has_one_vocabulary():
    task = table_task("a,b\nb,c\nc,a\n")
    assert not task.apart and task.in_one_vocabulary() is task
    assert task.vocabulary == ("a", "b", "c") and task.labels.tolist() == [1, 2, 0]
    assert table_task("a,b\nb,c\nc,b\n").answers == ("b", "c")


def test_numbers_are_tokens_unless_they_stand_in_the_column_of_weights():
    table = "2,plus,3\n2,minus,1\n"
    assert named(table_task(table)) == {("2", "plus"): "3", ("2", "minus"): "1"}
    weighted = table_task(table, weights=True)
    assert named(weighted) == {("2",): "plus"}
    assert weighted.counts.totals().tolist() == [4]


def test_a_header_names_the_column_of_weights_or_there_is_none():
    table = "subject,relation,next,Weight\na,b,c,5\na,b,d,7\nb,b,c,20\n"
    task = table_task(table, header=True)
    assert named(task) == {("b", "b"): "c", ("a", "b"): "d"}
    assert task.prior.tolist() == [20 / 32, 12 / 32]
    plain = table_task(table, header=True, weights=False)
    assert named(plain)[("a", "b", "d")] == "7"
    assert "Weight" not in plain.vocabulary
    assert table_task("subject,next\na,b\n").vocabulary == ("subject", "a")


def test_a_first_row_that_ends_in_weight_must_be_explained():
    table = "a,b,weight\nc,d,height\n"
    with pytest.raises(InputError, match=r"line 1 .*header=True .*weights=False"):
        table_task(table)
    assert named(table_task(table, weights=False)) == {("a", "b"): "weight", ("c", "d"): "height"}


def test_other_delimiters_and_lines_within_quotes_are_read():
    task = table_task('a\t"two\nlines"\nb\tc\n', delimiter="\t")
    assert named(task) == {("a",): "two\nlines", ("b",): "c"}
    with pytest.raises(InputError, match=r"line 4 .* 1 cell,"):
        table_task('a\t"two\nlines"\nb\tc\nd\n', delimiter="\t")


def test_laws_take_all_next_tokens_of_a_context():
    task = table_task("a,x,3\na,y,1\nb,x,1\n", weights=True, target="laws")
    assert task.counts.dense(0, 2, 2).tolist() == [[3, 1], [1, 0]]
    assert task.laws is not None and task.laws.shape == (2, 2) and task.answers == ("x", "y")


def test_facts_are_cut_by_weight():
    task = table_task("a,x,1\nb,y,9\n", weights=True, facts=1)
    assert named(task) == {("b",): "y"} and task.n_all == 2


def test_files_are_read_as_tables(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_bytes(b"\xef\xbb\xbfa,\xc3\xa9\r\nb,c\r\n")
    assert named(table_task(read_table(path))) == {("a",): "é", ("b",): "c"}
    path.write_bytes(b"a,\xff\n")
    with pytest.raises(InputError, match="at byte 2"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_table(path)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("", {}, "the table is empty"),
        ("\n\n", {}, "the table is empty"),
        ("a,b\n", {"header": True}, "no facts"),
        ("a\nb\n", {}, "line 1 .* 1 cell,"),
        ("a,1\nb,1\n", {"weights": True}, "line 1 .* and a weight"),
        ("a,b,c\n\na,b\n", {}, "line 3 .* 2 cells, but line 1 has 3"),
        ("a,b\nc,d,e\n", {}, "line 2 .* 3 cells"),
        ("a,b\nc,\n", {}, "line 2 .* empty cell"),
        ("a,b\na,c\n", {}, "lines 1 and 2 .* contradict each other: 'a' -> 'b' and 'c'"),
        ("a,b,2\na,c,2\na,d,1\n", {"weights": True}, "lines 1 and 2 .* contradict"),
        ('a,b\n"c,d\n', {}, "line 2 .* not CSV"),
        ("a,b\n", {"delimiter": ";;"}, "delimiter"),
        ("a,b\n", {"delimiter": "\n"}, "delimiter"),
        ("a,b\n", {"facts": 2}, "facts = 2"),
    ],
)
def test_tables_that_hold_no_facts_are_refused(table, options, message):
    with pytest.raises(InputError, match=message):
        table_task(table, **options)


@pytest.mark.parametrize(
    "weight",
    ["0", "-1", "1.5", "1e3", "nan", "inf", "x", "1_000", "٣", "0x10", "9007199254740993", "9" * 5000, "+2", " "],
)
def test_weights_that_are_no_positive_integers_are_refused(weight):
    with pytest.raises(InputError, match=r"line 2 .* weight .* expected an integer"):
        table_task(f"a,b,1\nc,d,{weight}\n", weights=True)


def test_everything_that_is_wrong_is_named_at_once():
    with pytest.raises(InputError) as caught:
        table_task("a,b,c\na,b\na,,c\na\n")
    assert [f"line {line} of" in str(caught.value) for line in (1, 2, 3, 4)] == [False, True, True, True]
    with pytest.raises(InputError) as caught:
        table_task("".join(f"a,{i}\n" for i in range(40)))
    assert str(caught.value).count("contradict") == 20 and "and 19 more" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "form"),
    [
        ("a,b,c\nd,e,f\n", (",", False)),
        ("a;b;c\nd,x;e;f\n", (";", False)),
        ("a\tb\nc d\te, f\n", ("\t", False)),
        ("a|b\nc|d\n", ("|", False)),
        ('"a;b",c\n"d;e",f\n', (",", False)),
        ("subject,relation,answer\nFrance,capital,Paris\n", (",", True)),
        ("Question;Answer\nwho;me\n", (";", True)),
        ("land,city,weight\nPeru,Lima,3\n", (",", True)),
        ("land,city,weight\nPeru,Lima,big\n", (",", False)),
        ("subject,answer\n", (",", False)),  # a header alone would leave no fact
        ("one column\nof text\n", (",", False)),
        ("a,b\nc,d,e\n", (",", False)),
        ('a,"b\n', (",", False)),
        ("", (",", False)),
    ],
)
def test_the_form_of_a_table_is_found(table, form):
    found = sniff_table(table)
    assert (found.delimiter, found.header) == form


def test_the_largest_weight_is_accepted():
    assert table_task(f"a,b,{2**53 - 1}\nc,d,1\n", weights=True).counts.totals().tolist() == [2**53 - 1, 1]
    assert table_task("a,b, 007 \n", weights=True).counts.totals().tolist() == [7]


def test_rows_that_say_the_same_are_counted_together():
    task, form = sniffed_task("a,b\nc,d\n\na,b\n")
    assert (form.rows, form.merged) == (3, 1) and named(task) == {("a",): "b", ("c",): "d"}
    assert task.counts.totals().tolist() == [2, 1] and task.origin == "table"
    assert table_task("a,b,1\na,b,2\n", weights=True).counts.totals().tolist() == [3]
    assert named(table_task("a,c\na,b\na,b\n")) == {("a",): "b"}  # more rows say so


def test_spaces_around_cells_go_where_they_are_told_to_and_a_cell_of_spaces_stays():
    table = ' France , "Paris "\nPeru, Lima\n" ",b\n'
    task, form = sniffed_task(table, strip=True)
    assert named(task) == {("France",): "Paris", ("Peru",): "Lima", (" ",): "b"} and form.stripped == 2
    assert named(sniffed_task(" France ,Paris\n")[0]) == {(" France ",): "Paris"}


def test_an_error_of_a_row_names_the_delimiter_that_was_found():
    with pytest.raises(InputError, match=r"line 3 .* 2 cells, but line 1 has 3: .* .read with ';' between the cells"):
        sniffed_task("a;b;c\nd;e;f\ng;h\n")
    with pytest.raises(InputError) as caught:
        sniffed_task("a;b;c\nd;e;f\ng;h\n", delimiter=";")
    assert "read with" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("country,capital", "France,Paris\nPeru,Lima"),
        ("id,place", "1,Paris\n2,Lima"),
        ("Land,Einwohner", "Peru,33\nMali,22"),
        ("stadt,fluss", "Paris,Seine\nRom,Tiber"),
        (",place", "0,Paris\n1,Lima"),
        ("a,b,sum", "1,2,3"),
    ],
)
def test_a_first_row_that_can_only_be_names_is_a_header(header, rows):
    assert sniff_table(f"{header}\n{rows}\n").header is (header[0] != ",")
    assert not sniff_table(f"{rows}\n").header


@pytest.mark.parametrize(
    "table",
    [
        "country,capital\ncapital,city\n",  # a word of the header is in another row
        "unknown,Paris\n1,Lima\n2,Rome\n",  # a number may be missing
        "iron,Fe\nGold,Au\nZinc,Zn\n",  # not all begin with small letters
        "iron,metal\nGold,Metal\n",  # one row is no rule
        "id,Paris\n1,Lima\n",
        "pi,three\n4,5\n",
        "pi,e,three\n4,x,5\n",
        "\u221e,limit\n1,one\n2,two\n",
        "dog,bark\ncat,meow\ncow,moo\n",
        "A,B\na,b\nc,d\n",
    ],
)
def test_a_first_row_that_could_be_a_fact_is_one(table):
    task, form = sniffed_task(table)
    assert not form.header and task.n_contexts == table.count("\n")


def test_weights_that_decide_are_no_contradiction():
    assert named(table_task("a,b,1\na,c,2\n", weights=True)) == {("a",): "c"}
    assert table_task("a,b\na,c\n", target="laws").n_contexts == 1
