"""What a trained model is asked: facts, a rule on a domain, a rule with a state; one file each."""
