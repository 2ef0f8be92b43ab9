"""What is done when something is asked: hold a task, certify what was built, run what was written."""
