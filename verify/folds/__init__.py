"""Rules with a state, proved on all inputs: longest paths, and boxes of what the heads write."""
