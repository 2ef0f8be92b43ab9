"""Questions to a trained model: facts, a rule on a domain, a rule with a state; one file each."""
