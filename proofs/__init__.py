"""The long proofs: random cases by the million, seeded, resumable. `make prove` runs them; the tests run a small dose."""
