"""The margins and the coherence of unembeddings, exactly."""
