"""Promises that are not a matter of random cases: a test holds each, and `make test` runs it."""

TESTED = {
    "Error messages read as agreed, with a place, a reason and a fix, and nothing is written": "tests/machines/text/test_golden_errors.py",
    "Every error code is documented, with an example that gives it": "tests/pages/test_made_pages.py",
    "Learners reach values that are known by hand": "tests/learning/test_q_learning.py",
    "The same spec and seed give the same bytes, in any process, interrupted or not": "tests/learning/test_runs.py",
    "Every registered environment passes Gymnasium's own check": "tests/domains/test_contract.py",
    "Wrapped environments pass Gymnasium's and Stable-Baselines3's own checks": "tests/product/test_wrap_others.py",
    "Vector environments are their sub-environments, one by one": "tests/product/test_wrap_vector.py",
    "Advantages and the loss of PPO are Stable-Baselines3's": "tests/learning/deep/test_parts.py",
    "Imagined experiences in the replay buffer are what the machine would have done": "tests/learning/deep/test_sb3_buffer.py",
    "An Office-style reward machine and PyCRM's LetterWorld pay here what they pay there": "tests/test_coming_from.py",
    "The commands of *Start here* work as written, from an empty folder": "tests/test_start_here.py",
    "The Python of the README and of these pages runs": "tests/test_readme.py",
    "Every public name has an example that runs": "tests/test_public_names.py",
    "The wheel is small and works with the core's dependencies alone": "tests/test_wheel.py",
    "Files never run code: no `eval`, `exec` or `pickle` in the package": "tests/test_architecture.py",
    "These pages build strictly, every link leads somewhere, nothing is fetched from elsewhere": "tests/pages/test_site.py",
}
"""A promise -> the test that holds it."""
