"""Judge a model on all inputs of a domain; most inputs are not evaluated one by one."""
