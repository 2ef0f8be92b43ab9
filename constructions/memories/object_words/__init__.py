"""Tables subject, relation, object in few entries: a subject's row is words whose digits are its objects."""
