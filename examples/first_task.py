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
ROOMS = pdrm.domains.parse_map("1.s2", places="12s", start="s")
world = pdrm.domains.grid_domain("rooms", ROOMS, {"1": "a", "2": "b", "s": "stop"}, step_limit=40)

for view in (pdrm.TopK(0), pdrm.TopK(1)):
    training = pdrm.learning.Training(world, TASK, view, pdrm.QLearning(learning_rate=0.2, discount=0.95), seed=0)
    training.advance(3_000)
    print(f"sees {view} symbols of the stack: mean return of ten test episodes {training.test().returns.mean():g}")
