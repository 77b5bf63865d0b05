"""The paper's claims as rules over recorded runs: each holds, does not hold, or was not run, with the numbers."""
