"""Test or certify the conditions of saturated heads on given data."""
