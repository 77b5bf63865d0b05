"""A first task: press as many b's as there were a's. Write it, look at it, train on it, and see that the stack is needed."""

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

# Four rooms in a row; the first says `a` when it is entered, the last `b`; `stop` is said by the bell in the second.
world = pdrm.domains.grid_domain(
    "rooms", "1.s2", {"1": "a", "2": "b", "s": "stop"}, start="s", step_limit=40
)

for k in (0, 1):
    agent = pdrm.QLearning(k=k, episodes=3_000, learning_rate=0.2, discount=0.95)
    run = pdrm.train(pdrm.Task(world, TASK), agent, seed=0)
    print(
        f"sees {k} symbols of the stack: mean return of ten test episodes {run.curve.final_return:g}"
    )
