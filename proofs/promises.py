"""Every promise that is checked on random cases: what it says, what is compared with what, how often, and by which check."""

from __future__ import annotations

from collections.abc import Mapping

from proofs.proof import Proof, counts_text

MACHINES, ENGINES, ANALYSIS, RUNS = "Machines", "Engines", "Analysis", "Runs"
GROUPS = {
    MACHINES: "What a machine means, and the files it is written in.",
    ENGINES: "Everything fast does what the readable form says.",
    ANALYSIS: "Values, sufficient k and sizes are what is true of the task.",
    RUNS: "Results do not depend on what happens to the computer.",
}

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
"""Promises that are not a matter of random cases: each is held by a test, which `make test` runs."""


def answers_text(counts: Mapping[str, int]) -> str:
    """The counts of the proof about k: how many answers were left undecided, and what became of certificates."""
    parts = []
    for kind in ("", " (to a depth)"):
        asked, left = counts.get(f"answers{kind}", 0), counts.get(f"undecided{kind}", 0)
        parts.append(f"{left:,} of {asked:,} answers{kind} undecided: {left / max(1, asked):.2%}")
    rest = {name: count for name, count in counts.items() if not name.startswith(("answers", "undecided"))}
    return ", ".join([*parts, *([counts_text(rest)] if rest else [])])


PROOFS = (
    Proof(
        name="acceptance",
        group=MACHINES,
        promise="A machine accepts a word just when the pushdown automaton with the same rules does.",
        compared="`machine.run(word).accepted` with automata-lib's `DPDA`, on random machines with silent moves, empty stacks and undefined cases",
        unit="words",
        target=1_000_000,
        check="proofs.acceptance:check",
        oracles=("automata-lib",),
    ),
    Proof(
        name="peers-counting",
        group=MACHINES,
        promise="A counting automaton pays what PyCRM pays for the same one.",
        compared="our LetterWorld automaton with PyCRM's own, its documented example, state, counter and reward after every label",
        unit="words",
        target=1_000_000,
        check="proofs.peers_counting:check",
        oracles=("pyrewardmachines",),
    ),
    Proof(
        name="translation",
        group=MACHINES,
        promise="A counting automaton with one counter and the pushdown machine it is translated to pay the same at every step.",
        compared="random automata with their translation (Appendix B), with the counter's boxes on the stack",
        unit="words",
        target=1_000_000,
        check="proofs.translation:check_translation",
    ),
    Proof(
        name="simulation",
        group=MACHINES,
        promise="A pushdown machine and the two counters that simulate it pay the same at every step.",
        compared="random machines with their simulation (Section 5), with the stack read off the counters",
        unit="words",
        target=100_000,
        check="proofs.translation:check_simulation",
    ),
    Proof(
        name="round-trip",
        group=MACHINES,
        promise="A machine that is written to a file and read again is the same machine.",
        compared="random machines and counting automata with what is read back from their `.pdrm` text and their JSON",
        unit="machines",
        target=100_000,
        check="proofs.round_trip:check",
    ),
    Proof(
        name="formulas",
        group=MACHINES,
        promise="A machine made of a temporal formula accepts just the traces that satisfy it, and with `accept first` is done at the first that does.",
        compared="random formulas over five events, of the future, of the past and of both, with an evaluator that follows the definition of each operator along the trace; "
        "the Declare patterns among them, written a second time",
        unit="formula × trace pairs",
        target=1_000_000,
        check="proofs.logic:check_formulas",
    ),
    Proof(
        name="expressions",
        group=MACHINES,
        promise="A machine made of a regular expression accepts just the words that match.",
        compared="random expressions with Python's `re.fullmatch` on the same letters, and on every beginning of the word",
        unit="expression × word pairs",
        target=1_000_000,
        check="proofs.logic:check_expressions",
    ),
    Proof(
        name="combinations",
        group=MACHINES,
        promise="Machines that are combined pay the sum of what they pay apart, and are final when the formula over them says so; stacks that cannot be one are refused "
        "with a word that shows it.",
        compared="random machines with stacks, silent moves and undefined cases, beside machines of formulas and expressions, with each of them run by itself",
        unit="combination × word pairs",
        target=100_000,
        check="proofs.combining:check",
    ),
    Proof(
        name="mutations",
        group=MACHINES,
        promise="A damaged file gives a machine or errors that name the place: no traceback, no hang, no memory eaten up.",
        compared="catalogue machines as `.pdrm`, JSON and reward-machine text, damaged at random, with what a reader may do: at most a second and 256 MB",
        unit="damaged files",
        target=1_000_000,
        check="proofs.mutations:check",
    ),
    Proof(
        name="engines",
        group=ENGINES,
        promise="A compiled machine does what the readable one does, bit for bit.",
        compared="the readable step, the plain step on tables and the Numba kernel, every configuration and reward, on random machines",
        unit="machine × word pairs",
        target=10_000_000,
        check="proofs.engines:check",
    ),
    Proof(
        name="jax-machine",
        group=ENGINES,
        promise="A machine in JAX, as deep agents use it, does what the readable one does.",
        compared="the packed stacks of `JaxMachine` with the readable step: state, stack and status are equal, rewards up to the rounding of 32-bit numbers",
        unit="machine × word pairs",
        target=1_000_000,
        check="proofs.jax_machine:check",
        oracles=("jax",),
    ),
    Proof(
        name="wrap",
        group=ENGINES,
        promise="An environment wrapped with `pdrm.wrap` pays, ends and shows what the readable machine says.",
        compared="wrapped Gymnasium environments that emit random labels with the readable step: rewards, both kinds of end, observations, infos",
        unit="episodes",
        target=1_000_000,
        check="proofs.wrapping:check",
        oracles=("gymnasium",),
    ),
    Proof(
        name="water-twin",
        group=ENGINES,
        promise="WaterWorld in JAX moves and emits what WaterWorld in NumPy does.",
        compared="one step of both from the same state: labels are equal, places and observations within 0.00001",
        unit="steps",
        target=500_000,
        check="proofs.water_twin:check",
        oracles=("jax",),
    ),
    Proof(
        name="learners",
        group=ENGINES,
        promise="The fast Q-learning and CpRM learn exactly what the algorithms as written down learn.",
        compared="the Numba learners with the readable ones on random tasks and settings, over stacks and over counters: every table entry bit for bit, and test episodes",
        unit="training runs",
        target=50_000,
        check="proofs.learners:check",
    ),
    Proof(
        name="hierarchical",
        group=ENGINES,
        promise="The fast hierarchical agent learns exactly what the algorithm as written down learns.",
        compared="the Numba agent with the readable one on random tasks and settings: the meta-policy's and every option's table bit for bit, and test episodes",
        unit="training runs",
        target=50_000,
        check="proofs.hierarchical:check",
    ),
    Proof(
        name="values",
        group=ANALYSIS,
        promise="The true value of a task lies in the interval that is reported.",
        compared="intervals of random products with the model checker Storm: its rational results lie inside, its sound floating-point ones within 0.000001",
        unit="products",
        target=10_000,
        check="proofs.values:check",
        oracles=("stormpy",),
    ),
    Proof(
        name="exact-values",
        group=ANALYSIS,
        promise="Exact values and their optimal actions are exact.",
        compared="`exact_values` of random products with Storm's policy iteration in rational numbers",
        unit="products",
        target=10_000,
        check="proofs.values:check_exact",
        oracles=("stormpy",),
    ),
    Proof(
        name="sufficient-k",
        group=ANALYSIS,
        promise="A yes or a no about whether k symbols are enough is right, and a certificate is accepted only if it is true.",
        compared="every answer on small random products with trying all k-policies in fractions; certificates with falsified ones",
        unit="products",
        target=10_000,
        check="proofs.sufficient_k:check",
        say=answers_text,
    ),
    Proof(
        name="exactness",
        group=ANALYSIS,
        promise="A yes or a no holds for the numbers as they were written, to the last digit, and a certificate that rests on other numbers is rejected.",
        compared="answers about machines written with rewards of 1 to 17 digits that nearly tie, fortunes that no rule in reach pays, and discounts from 0.001 to the last float below 1, with policy iteration and all k-policies in fractions; certificates with forged ones",
        unit="products",
        target=10_000,
        check="proofs.exactness:check",
    ),
    Proof(
        name="sizes",
        group=ANALYSIS,
        promise="No task has more stacks or table rows than the bounds say, and those that are counted are those there are.",
        compared="the counts of `pdrm sizes` and Section 5's bounds (with the initial symbol counted) with a plain walk through random products",
        unit="comparisons",
        target=500_000,
        check="proofs.sizes:check",
    ),
    Proof(
        name="resume",
        group=RUNS,
        promise="A study that is killed, runs out of disk or is locked out of its folder goes on to the same results.",
        compared="every file after random SIGKILLs of the command and its workers, a full disk or a read-only folder with an undisturbed study's, byte for byte",
        unit="disasters",
        target=240,
        check="proofs.resume:check",
        also=("pdrm.cli",),
    ),
    Proof(
        name="tampered-files",
        group=RUNS,
        promise="A tampered file is refused, or read as something valid: nothing crashes, hangs or follows an index out of bounds.",
        compared="checkpoints, policies, results, curves, studies, caches, certificates, domains and machines after accidents to their bytes, values and arrays, used in a child process with limits, kernels with checked indices",
        unit="files",
        target=100_000,
        check="proofs.tampered:check",
    ),
    Proof(
        name="command-lines",
        group=RUNS,
        promise="Whatever is typed, in any locale and encoding, a command ends with exit code 0, 1, 2 or 130, never with a traceback.",
        compared="the exit codes and output of random commands, arguments, options and files, each in a process of its own",
        unit="commands",
        target=10_000,
        check="proofs.command_lines:check",
        also=("pdrm.cli",),
    ),
    Proof(
        name="clusters",
        group=RUNS,
        promise="A study has the same results on one worker, on two, and on a cluster that loses a part of itself.",
        compared="every file from one and two local workers, a Dask cluster that loses a worker and a Ray cluster that loses a node, byte for byte",
        unit="studies",
        target=8,
        check="proofs.clusters:check",
        oracles=("distributed", "ray"),
    ),
)
