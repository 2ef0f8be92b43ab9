"""The conditions of saturated heads on given data, tested or certified."""
