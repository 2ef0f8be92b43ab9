from constructions.tasks.names import OTHER, WORDS, byte_name


def test_bytes_have_names_of_their_own() -> None:
    names = [byte_name(value) for value in range(256)]
    assert len(set(names)) == 256 and OTHER not in names
    assert names[ord("a")] == "a" and names[10] == r"\x0a" and names[92] == r"\x5c"


def test_a_text_is_cut_into_words_and_single_other_characters() -> None:
    assert WORDS.findall("so much, so") == ["so", "much", ",", "so"]
