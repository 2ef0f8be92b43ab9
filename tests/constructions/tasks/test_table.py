"""A table of facts becomes a task: what is a token, what a weight, and what is refused with its line."""

import pytest

from constructions.errors import InputError
from constructions.tasks.table import read_table, table_facts, table_form, table_task


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


def test_a_column_called_weight_counts_only_where_that_is_said():
    table = "subject,relation,next,Weight\na,b,c,5\na,b,d,7\nb,b,c,20\n"
    with pytest.raises(InputError, match=r"line 1 .*ends in 'Weight'.*weights=True \(--weights\).*--no-weights"):
        table_task(table, header=True)
    task = table_task(table, header=True, weights=True)
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


def test_distributions_take_all_next_tokens_of_a_context():
    task = table_task("a,x,3\na,y,1\nb,x,1\n", weights=True, target="distributions")
    assert task.counts.dense(0, 2, 2).tolist() == [[3, 1], [1, 0]]
    assert task.distributions is not None and task.distributions.shape == (2, 2) and task.answers == ("x", "y")


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
        ("a,b,c\na,e,f\n", (",", False)),
        ("a;b;c\na;e,x;f\n", (";", False)),
        ("a\tb\na d\te, f\na\tc\n", ("\t", False)),
        ("a|b\na|d\n", ("|", False)),
        ('"a;b",c\n"a;b",f\n', (",", False)),
        ('"a";"1,5"\n"a";"2,5"\n', (";", False)),
        ('x;"a,b"\nx;"c,d"\n', (";", False)),
        ("name,value\nPeru,es;qu;ay\nMali,fr;bm\nOslo,no\n", (",", True)),
        ("Question;Answer\nwho;me\n", (";", True)),
        ("city;value\nAhlen;51,76\nBonn;50,73\n", (";", True)),
        ("land,city,weight\nPeru,Lima,big\nPeru,Oslo,small\n", None),
        ("one column\nof text\n", (",", False)),
        ("a,b\nc,d,e\n", None),
        ("", (",", False)),
    ],
)
def test_the_form_of_a_table_is_found_or_asked_for(table, form):
    if form is None:
        with pytest.raises(InputError, match=r"line 1 .*may name the columns or be a fact.*--header or --no-header"):
            table_form(table)
    else:
        found = table_form(table)
        assert (found.delimiter, found.header, found.weights) == (*form, False)


@pytest.mark.parametrize(
    ("table", "first", "second"),
    [
        ("Lima\tPeru, South America\nOslo\tNorway, Europe\n", ",", "tab"),
        ("Ahlen;51,76\nBonn;50,73\n", ",", ";"),
        ("Stadt;Breite,Grad\nAhlen;51,76\nBonn;50,73\n", ",", ";"),
        ("Stadt,Breite\nAhlen;51,76\nBonn;50,73\n", ",", ";"),  # the header is written otherwise than the rows
        ("Ahlen;51,76\nBonn;50,73\nCelle 52,62\n", ",", ";"),  # one separator is missing
        ("Jan 1, 2020|new year\nMay 1, 2020|labour day\n", ",", "|"),
        ("milk|1;50\nbread|2;20\n", ";", "|"),
        ("a\tb;c\td\ne\tf;g\th\n", ";", "tab"),
        ("Peru,es;qu;ay\nMali,fr;bm\n", ",", ";"),
        ('A;"B" x,1\nC;"D" y,2\n', ",", ";"),  # quoted as neither is
    ],
)
def test_two_separators_that_fit_are_both_named(table, first, second):
    with pytest.raises(InputError) as caught:
        table_facts(table, header=False)
    said = str(caught.value)
    for one in (first, second):
        assert f"--delimiter {one}" in said or f"--delimiter '{one}'" in said
    for one in (first, second):
        separator = {"tab": "\t"}.get(one, one)
        try:
            assert table_facts(table, header=False, delimiter=separator)[1].delimiter == separator
        except InputError as error:
            assert "line" in error.argument  # the rows are wrong with it, which is said


@pytest.mark.parametrize("name", ["weight", "Weight", " WEIGHT "])
@pytest.mark.parametrize("columns", ["part", "part,grade", "subject,answer"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_column_of_weights_is_asked_for_however_many_there_are(name, columns, separator):
    rows = [["bolt", "steel", "12"], ["bolt", "brass", "15"], ["nut", "steel", "4"]]
    rows = [[*row[: columns.count(",") + 1], row[2]] for row in (rows if "," in columns else rows[1:])]
    table = "".join(separator.join(row) + "\n" for row in [[*columns.split(","), name], *rows])
    with pytest.raises(
        InputError, match=r"may count how often a fact occurs or be the answer.*--weights or --no-weights"
    ):
        table_facts(table)
    assert named(table_facts(table, weights=False)[0]) == {tuple(row[:-1]): row[-1] for row in rows}
    assert named(table_facts(table, header=False)[0])  # its first row is then a fact, and no weight
    if "," in columns:
        task, form = table_facts(table, weights=True, target="distributions")
        assert form.weights and form.header and task.counts.totals().sum() == 31


@pytest.mark.parametrize("odd", ["0", "00", "-1", "+3", "9007199254740993", "9" * 5000, "٣", ""])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_cell_that_no_weight_can_be_makes_no_answers_of_the_others(odd: str, place: int) -> None:
    """Facts that nobody meant would be proved: that the answer is how often a fact occurs."""
    cells = ["12", "15", "4"]
    cells[place] = odd
    facts = ["bolt,steel", "bolt,brass", "nut,steel"]
    table = "part,answer,weight\n" + "".join(f"{fact},{cell}\n" for fact, cell in zip(facts, cells, strict=True))
    for header in (None, True):
        with pytest.raises(InputError, match="--weights or --no-weights"):
            table_facts(table, header=header, skip_empty=True)
    if odd:
        with pytest.raises(InputError, match=r"has the weight .*--no-weights if the column is the answer"):
            table_facts(table, header=True, weights=True)
        assert named(table_facts(table, header=True, weights=False)[0])["bolt", "steel"] == cells[0]


def test_a_fact_whose_weight_is_misspelt_is_no_header():
    with pytest.raises(InputError, match=r"may name the columns or be a fact: 'x' 'y' '1O'"):
        table_facts("x,y,1O\na,b,3\n", weights=True)
    with pytest.raises(InputError, match="has the weight '1O'"):
        table_facts("a,y,1O\na,b,3\n", weights=True)
    assert table_facts("x,y,Count\na,b,3\n", weights=True)[1].header


def test_a_column_called_weight_without_counts_is_the_answer():
    task, form = table_facts("name,weight\nPikachu,6.0\nOnix,210\n")
    assert named(task) == {("Pikachu",): "6.0", ("Onix",): "210"} and form.header and not form.weights
    with pytest.raises(InputError, match=r"has the weight '6.0'.*--no-weights"):
        table_facts("name,kind,weight\nPikachu,mouse,6.0\n", weights=True)


def test_a_line_that_only_a_spreadsheet_reads_is_named():
    with pytest.raises(InputError, match=r"line 1 .*'sep=;'.*spreadsheet.*--delimiter ';'"):
        table_facts("sep=;\na;b\n")


def test_rows_with_an_empty_cell_are_left_out_where_that_is_said_and_counted():
    table = "land,capital\nPeru,Lima\nBouvet Island,\n,Oslo\n"
    with pytest.raises(InputError) as caught:
        table_facts(table, header=True, skip_empty=False)
    assert str(caught.value).endswith("; --skip-empty leaves such rows out") and "delimiter" not in str(caught.value)
    task, form = table_facts(table, header=True, skip_empty=True)
    assert named(task) == {("Peru",): "Lima"} and form.left_out == "2 rows with an empty cell left out"
    with pytest.raises(InputError, match="no facts but those with an empty cell"):
        table_facts("a,b\nc,\n", header=True, skip_empty=True)


def test_the_largest_weight_is_accepted():
    assert table_task(f"a,b,{2**53 - 1}\nc,d,1\n", weights=True).counts.totals().tolist() == [2**53 - 1, 1]
    assert table_task("a,b, 007 \n", weights=True).counts.totals().tolist() == [7]


def test_rows_that_say_the_same_are_counted_together():
    task, form = table_facts("a,b\nc,d\n\na,b\n", header=False)
    assert (form.rows, form.merged) == (3, 1) and named(task) == {("a",): "b", ("c",): "d"}
    assert task.counts.totals().tolist() == [2, 1] and task.origin == "table"
    assert table_task("a,b,1\na,b,2\n", weights=True).counts.totals().tolist() == [3]
    assert named(table_task("a,c\na,b\na,b\n")) == {("a",): "b"}  # more rows say so


def test_spaces_around_cells_go_where_they_are_told_to_and_what_is_in_quotes_stays():
    table = ' France , "Paris " \nPeru, Lima\n" ",b\nd, \n'
    task, form = table_facts(table, strip=True, header=False)
    assert named(task) == {("France",): "Paris ", ("Peru",): "Lima", (" ",): "b", ("d",): " "} and form.stripped == 2
    assert named(table_facts(" France ,Paris\n", header=False)[0]) == {(" France ",): "Paris"}


def test_line_ends_within_quotes_stand_as_they_are():
    table = 'cell,answer\r\n"a\r\nb",one\r\n"a\nb",two\r\n"a\rb","three\r"\r\n'
    task, _ = table_facts(table, header=True)
    assert named(task) == {("a\r\nb",): "one", ("a\nb",): "two", ("a\rb",): "three\r"}
    with pytest.raises(InputError, match=r"line 9 .* 3 cells"):  # a line end of two characters is one
        table_facts(table + "x,y,z\r\n", header=True, delimiter=",")


@pytest.mark.parametrize("table", ["a,b\rc,d\na,e\n", "a,b\r\na,c\n", "\ra,b\na,c\n", "a,b\nc\rd,e\na,f\n"])
def test_a_line_end_that_may_be_in_a_cell_is_named(table):
    with pytest.raises(InputError, match=r"line [12] .*may end a row or be part of a cell.*quotes"):
        table_facts(table, header=False)


def test_lines_that_end_alike_may_end_in_any_way():
    for end in ("\n", "\r", "\r\n", "\r\r\n"):
        task, _ = table_facts(f"a,x{end}{end}b,y{end}a,x", header=False)
        assert named(task) == {("a",): "x", ("b",): "y"}


def test_an_error_about_the_number_of_cells_names_the_delimiter_that_was_found():
    with pytest.raises(InputError, match=r"line 3 .* 2 cells, but line 1 has 3: .* .read with ';' between the cells"):
        table_facts("a;b;c\na;e;f\ng;h\n")
    for table in ("a;b\na;c\n", "a;b\na;\n", 'a;b\na;"c\n'):
        with pytest.raises(InputError) as caught:
            table_facts(table)
        assert "read with" not in str(caught.value)
    with pytest.raises(InputError, match=r"line 2 .* has 2 cells, but the header has 1"):
        table_facts("Stadt;Breite\nAhlen,1\nBonn,2\n", header=True)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("country,capital", "France,Paris\nPeru,Lima"),
        ("subject,relation,answer", "Peru,capital,Lima\nPeru,river,Amazon"),
        ("Question,Answer", "who,me"),
        ("id,value", "1,Paris"),
        ("iata,name,city,country", "LIM,Jorge Chávez,Lima,Peru"),
        ("Element,Atomic Mass", "Hydrogen,1.008\nHelium,4.0026\nLithium,6.94"),
        ("Land,Einwohner,Hauptstadt", "Peru,-1.5e7,Lima\nMali,22395489,Bamako\nOman,5%,Maskat"),
    ],
)
def test_a_first_row_of_words_that_headers_have_is_a_header(header, rows):
    assert table_form(f"{header}\n{rows}\n").header


@pytest.mark.parametrize(
    "table",
    [
        "Code,Meaning\nE1,disk gone\nE2,fan loud\n",
        "key,val\nE1,gone\nkey,val\nE2,loud\n",  # two tables, one behind the other
        "country,capital\ncapital,city\n",
        "word,term\nword,expression\n",
        "question,answer\n",  # a header alone, or a fact alone
        "iron,metal\n",
        "name;email\n",
        "Land\tHauptstadt\n\n",
        "country,2019,2020\nPeru,1,2\n",
        "0,1,2\n7,8,5\n",  # numbers of columns
        "pi,3\ne,2\n",
        "dog,bark\ncat,meow\ncow,moo\n",
        ",place\n0,Paris\n1,Lima\n",
        "A,B\na,b\nc,d\n",
        "pi,unknown\ne,2\ni,3\nj,4\n",
        "Peru,NA\nMali,2\nOman,3\nFiji,4\n",
        "Peru,about 7\nMali,2\nOman,3\nFiji,4\n",
        "Peru,seven\nMali,2\nOman,3\n",
    ],
)
def test_a_first_row_that_could_be_either_is_asked_for(table):
    with pytest.raises(InputError, match=r"may name the columns or be a fact: .*, expected --header or --no-header"):
        table_form(table)


@pytest.mark.parametrize(
    "table",
    [
        "7,8,5\n",
        "0,1\n",
        "France,capital,Paris\nFrance,river,Seine\n",
        "0,1,0\n1,0,0\n",
        "12,7\n15,9\n20,3\n",
        "+,-\n*,/\n",
    ],
)
def test_a_first_row_that_can_only_be_a_fact_is_one(table):
    task, form = table_facts(table)
    assert not form.header and task.n_contexts == table.count("\n")


def test_weights_that_decide_are_no_contradiction():
    assert named(table_task("a,b,1\na,c,2\n", weights=True)) == {("a",): "c"}
    assert table_task("a,b\na,c\n", target="distributions").n_contexts == 1
