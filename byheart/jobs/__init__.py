"""Run the main jobs: memorize a task, certify a model, run a folder."""
