"""A short text of frequent contexts, and its memory in a folder."""

from byheart.jobs.memorize import hold
from constructions.tasks.text import default_text, text_task


def small_text(length=6000, **options):
    """Sixty contexts of three tokens out of twelve."""
    return text_task(default_text()[:length], **({"vocabulary": 12, "context": 3, "facts": 60} | options))


def memorize_into(out, task, **options):
    """The figures of what was built and written."""
    return hold(task, **options).save(out)
