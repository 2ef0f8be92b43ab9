"""What an edit of a trained model changes, and what it does not: proved bounds."""
