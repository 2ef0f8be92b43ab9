"""The page that a person looks at."""
