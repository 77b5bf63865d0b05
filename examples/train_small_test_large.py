"""Train on small tasks, test on large ones: four deliveries in training, eight in the test, with the same machine and policy.

What a 1-policy learns (go to the place on top of the stack) does not depend on how high the stack is.
"""

import pdrm

small = pdrm.domain("deliver-4-8")
large = small.tested_on[0]
machine = pdrm.catalogue(small.machine)
rates = {"learning_rate": 0.1, "epsilon_decay": 0.999, "epsilon_least": 0.1}

for agent in (pdrm.QLearning(k=1, **rates), pdrm.CpRM(k=1, **rates)):
    training = pdrm.learning.QLearner(small, machine, pdrm.product.TopK(1), agent, seed=0)
    training.advance(pdrm.learning.Until(episodes=1_500))
    trained, tested = training.test(5, domain=small), training.test(5, domain=large)
    print(
        f"{agent.name:<5} four deliveries: {trained.returns.mean():8.1f} of {small.highest:g}   "
        f"eight deliveries: {tested.returns.mean():8.1f} of {large.highest:g}"
    )
