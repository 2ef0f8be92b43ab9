"""Judge a model on all inputs of a domain without evaluating most of them one by one."""
