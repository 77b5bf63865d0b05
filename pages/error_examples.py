"""For errors that no faulty machine file shows: a few lines of Python each, run to see what is said."""

START = "import pdrm\n"
TINY = 'tiny = pdrm.parse("events a b\\nexclusive a b\\nstack #\\nstart u\\nfinal f\\notherwise error\\nu -> f : a, # / #, 1")\n'
LAKE = 'import gymnasium\nlake = gymnasium.make("FrozenLake-v1")\n'
TASK = 'tiny = pdrm.parse("events a\\nstack #\\nstart u\\nfinal f\\notherwise stay 0\\nu -> f : a, # / #, 1")\n'
MAZE = (
    'maze = pdrm.domain("maze-5x5")\n'
    'training = pdrm.learning.QTraining(maze, pdrm.catalogue("treasure-maze"), pdrm.product.TopK(1), pdrm.QLearning(), seed=0)\n'
)
INSPECT = (
    'header = "events d u l r t x\\nstack # a\\nstart s\\nfinal done\\notherwise stay 0\\n"\n'
    'inspect = lambda rules: pdrm.product.inspect_task(pdrm.Task("maze-5x5", header + rules))\n'
)

EXAMPLES = {
    "E0001": 'pdrm.parse("events a\\nstack # A\\nstart u\\notherwise stay 0\\nu -> u : b, z / C z, 0")',
    "E0112": 'pdrm.from_grammar(\'start: pair*\\npair: "open" pear* "close"\')',
    "E0113": 'pdrm.from_grammar(\'start: "if" start ["else" start] | "x"\', accept="end")',
    "E0304": 'many = " & ".join(f"(a{n} | b{n} & c{n})" for n in range(16))\n'
    'events = " ".join(f"a{n} b{n} c{n}" for n in range(16))\n'
    'pdrm.parse(f"events {events}\\nstack #\\nstart u\\nfinal f\\notherwise stay 0\\nu -> f : {many}, # / #, 1\\nu -> u : !({many}), # / #, 0")',
    "E0305": 'pdrm.machines.counting_to_pushdown(pdrm.machines.pushdown_to_counting(pdrm.catalogue("treasure-maze")))',
    "E0306": 'pdrm.combine([pdrm.catalogue("letter"), pdrm.catalogue("anbn")])',
    "E0401": TINY + 'tiny.run(pdrm.language.parse_word("b"))',
    "E0402": TINY + 'tiny.step(pdrm.machines.Configuration("f", ("#",)), {"a"})',
    "E0403": TINY + 'tiny.run(pdrm.language.parse_word("a+b"))',
    "E0404": TINY + 'tiny.step(pdrm.machines.Configuration("nowhere", ("#",)), {"a"})',
    "E0405": "from pdrm.machines.stacks import Stacks\nStacks.empty(symbols=2, capacity=0)",
    "E0501": 'pdrm.load("missing.pdrm")',
    "E0502": 'pdrm.save(pdrm.catalogue("letter"), "no/such/folder/letter.pdrm")',
    "E0503": 'pdrm.save(pdrm.catalogue("letter"), "letter.doc")',
    "E0504": 'pdrm.language.parse_word("a++b")',
    "E0505": "pdrm explain E9999",
    "E0506": 'pdrm.catalogue("leter")',
    "E0701": 'pdrm.domain("maze-7x7")',
    "E0702": 'pdrm.domains.from_arrays("odd", next=[[0, 5]], label=[[0, 0]], labels=[()], step_limit=10)',
    "E0703": 'from pathlib import Path\nPath("map.txt").write_text("place k key\\n@..\\n")\npdrm.load_domain("map.txt")',
    "E0704": 'pdrm.domains.parse_map("@..\\n.")',
    "E0705": 'pdrm.domains.parse_map("...")',
    "E0706": 'pdrm.domains.parse_map("@#k", places="k")',
    "E0707": 'import gymnasium\npdrm.from_gymnasium(gymnasium.make("CartPole-v1"), lambda *_: set(), step_limit=10)',
    "E0708": 'pdrm.domains.grid_domain("hall", pdrm.domains.parse_map("@.k", places="k"), {"k": "key"}, step_limit=0)',
    "E0709": 'import gymnasium, pdrm.domains\nenv = gymnasium.make("pdrm/LetterEnv-v0", disable_env_checker=True).unwrapped\nenv.reset(seed=0)\nenv.step(9)',
    "E0710": 'from pathlib import Path\nPath("notes.npz").write_text("hello")\npdrm.load_domain("notes.npz")',
    "E0801": "pdrm.QLearning(learning_rate=2)",
    "E0815": "pdrm domains --sort sise",
    "E0807": "pdrm train letter --agent ppo --episodes 5",
    "E0808": "pdrm train letter --seed 3 --seeds 3",
    "E0809": "pdrm.Task(3)",
    "E0810": "pdrm train water-17 --agent q",
    "E0811": 'from pathlib import Path\nPath("map.txt").write_text("step_limit 9\\nplace a here\\n\\na@\\n")\npdrm train map.txt',
    "E0812": 'pdrm.check_k("paint", gamma=0.9)',
    "E0814": "pdrm.PPO().learn(1000)",
    "E0802": "pdrm train letter --agent sarsa",
    "E0803": 'from pathlib import Path\nPath("policy.json").write_text("{}")\npdrm.learning.load_policy("policy.npz")',
    "E0804": MAZE
    + 'training.advance(1)\npolicy = pdrm.learning.policy_of(training)\npolicy.act(0, "u7", ("#",))',
    "E0805": "pdrm evaluate nowhere",
    "E0806": 'import sys\nsys.modules["wandb"] = None  # as if it were not installed\npdrm.experiments.WeightsAndBiases("my-project")',
    "E0901": 'pdrm.wrap("FrozenLake-v1", "letter", labels="info")',
    "E0902": LAKE
    + TASK
    + 'env = pdrm.wrap(lake, tiny, lambda *_: "a")\nenv.reset(seed=0)\nenv.step(0)',
    "E0903": LAKE
    + TASK
    + 'odd = gymnasium.wrappers.TransformReward(lake, lambda _: float("nan"))\nenv = pdrm.wrap(odd, tiny, lambda *_: set())\nenv.reset(seed=0)\nenv.step(0)',
    "E0904": LAKE
    + TASK
    + "env = pdrm.wrap(lake, tiny, lambda *_: set())\nenv.unwrapped.reset()\nenv.step(0)",
    "E0905": LAKE
    + 'grow = pdrm.parse("events a\\nstack # A\\nstart u\\notherwise stay 0\\nu -> u : a, z / A z, 0")\n'
    "env = pdrm.wrap(lake, grow, lambda *_: {'a'}, k='full', depth=1)\nenv.reset(seed=0)\nenv.step(0)",
    "E0906": LAKE
    + 'done = pdrm.parse("events a\\nstack #\\nstart u\\nfinal f\\notherwise stay 0\\nu -> f : eps, # / #, 1")\n'
    "pdrm.wrap(lake, done, lambda *_: set()).reset(seed=0)",
    "E0907": LAKE
    + TASK
    + 'Old = type("Old", (gymnasium.Wrapper,), {"step": lambda self, action: self.env.step(action)[:4]})\n'
    "env = pdrm.wrap(Old(lake), tiny, lambda *_: set())\nenv.reset(seed=0)\nenv.step(0)",
    "E1001": "pdrm check-k maze-5x5 --height 30 --rule block --memory 0.0001",
    "E1002": 'from pathlib import Path\ntask = "events A B C\\nstack # X\\nstart u\\nfinal f\\notherwise stay 0\\nu -> u : {A}, z / X z, 0\\nu -> v : {B}, z / z, 0\\n"\n'
    'task += "v -> v : eps, X / eps, 1\\nv -> f : eps, # / #, 1"\nPath("task.pdrm").write_text(task)\npdrm check-k letter --machine task.pdrm',
    "E1003": 'from pathlib import Path\nfrom pdrm.analysis import load_certificate\nPath("proof.json").write_text("{}")\nload_certificate(Path("proof.json"))',
    "E1004": "pdrm check-k letter --discount 1",
    "E1005": 'pdrm.solve("letter")',
    "E1006": 'pdrm.solve("maze-20x20", seconds=0.001)',
    "E1101": 'from pathlib import Path\nPath("study.toml").write_text("name = \\"views\\"")\npdrm run study.toml',
    "E1102": "pdrm reproduce figure-99",
    "E1104": "pdrm report -o empty",
    "W0601": 'print(*pdrm.parse("events a\\nstack #\\nstart u\\notherwise stay 0\\nu -> u : a, # / #, 1\\nv -> u : a, # / #, 0").findings(), sep="\\n")',
    "W0602": TASK + 'print(*tiny.findings(), sep="\\n")',
    "W0603": 'print(*pdrm.parse("events a\\nstack # A\\nstart u\\notherwise stay 0\\nu -> u : true, # / #, 1\\nu -> u : a, A / A, 0").findings(), sep="\\n")',
    "W0605": 'import warnings\nwith warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter("always")\n    pdrm.from_ltlf("G a")\nprint(found[0].message)',
    "W0604": 'print(*pdrm.parse("events a b\\nstack #\\nstart u\\notherwise stay 0\\nu -> u : true, # / #, 1").findings(), sep="\\n")',
    "W0606": INSPECT
    + 'print(*inspect("s -> s : d, z / a z, 1\\ns -> s : u, a / eps, 1\\ns -> done : t, # / #, 1"), sep="\\n")',
    "W0607": INSPECT + 'print(*inspect("s -> done : t, # / #, -1"), sep="\\n")',
    "W0608": INSPECT + 'print(*inspect("s -> done : t & x, # / #, 1"), sep="\\n")',
    "W0610": 'print(pdrm.errors.NeverSucceeded("no episode of the last 5 tests ended in `done`", fix="train longer: total_timesteps=400_000", shell_fix="--steps 400000"))',
    "W0611": 'print(pdrm.errors.SmallImage("image", (7, 7, 3)))',
    "W0609": 'text = "events A B C D\\nstart u\\nfinal done\\notherwise stay 0\\nu -> done : D, 1"\n'
    'print(pdrm.product.inspect_task(pdrm.Task("letter", text))[0])',
    "W0616": "print(pdrm.errors.LongVector(100_804))",
    "W0615": 'print(*pdrm.parse("events a b\\nstack # A\\nstart u\\nfinal f\\notherwise stay 0\\nu -> u : a & !b, z / eps, 0\\nu -> f : b, # / #, 1").findings()[:1])',
    "W0614": 'print(*pdrm.parse("events a b\\nstack # A\\nstart u\\nfinal f\\notherwise stay 0\\nu -> u : a & !b, z / z A, 0\\nu -> f : b, # / #, 1").findings()[:1])',
    "W0613": 'print(*pdrm.parse("events a b\\nstack # A\\nstart u\\nfinal f\\notherwise stay 0\\nu -> u : a & !b, z / A, 0\\nu -> f : b, # / #, 1").findings()[:1])',
    "W0612": INSPECT + 'print(*inspect("s -> done : t, # / #, 0"), sep="\\n")',
}
"""Lines that begin with `pdrm ` and a blank are commands."""
