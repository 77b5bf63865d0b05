"""A first task: as many b's as a's. Training needs the stack (k = 1), and fails without (k = 0)."""

import pdrm

TASK = pdrm.parse("""
name      as-many
events    a b stop
exclusive a b stop
stack     # A
start     more
final     right wrong
otherwise stay 0

more -> more  : a,    z / A z, 0
more -> fewer : b,    A / eps, 0
fewer -> fewer : b,   A / eps, 0
fewer -> right : stop, # / #, 10
fewer -> wrong : stop, A / A, -1
""")

# Four rooms in a row. Entering the first emits `a`, the third `stop`, and the last `b`.
world = pdrm.domains.grid_domain(
    "rooms", "1.s2", {"1": "a", "2": "b", "s": "stop"}, start="s", step_limit=40
)

for k in (0, 1):
    agent = pdrm.QLearning(k=k, episodes=3_000, learning_rate=0.2, discount=0.95)
    run = pdrm.train(pdrm.Task(world, TASK), agent, seed=0)
    print(
        f"observes {k} symbols of the stack: mean return of ten evaluation episodes {run.curve.final_return:g}"
    )
