"""The paper: its figures as data (`paper_figures`), what they are if something is decided otherwise (`paper_readings`, `generated_tasks`),
what a claim is and how it is judged (`claims`), every claim (`paper_claims`), and the runs that come with the package (`recorded`)."""
