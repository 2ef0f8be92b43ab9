"""Build weights that memorize a task: one file per construction."""
