"""Faulty machine files, each with one fault: what `pdrm check` says about them is kept in messages.txt."""

GOOD = """\
name      task
events    a b t
stack     # A B
start     u0
final     done
otherwise stay 0

u0 -> u0   : {a}, z / A z, 0
u0 -> u1   : {b}, z / z,   0
u1 -> u1   : {a}, A / eps, 1
u1 -> done : {t}, # / #,   10
"""


def swap(old: str, new: str) -> str:
    """The good file with one thing changed."""
    assert old in GOOD
    return GOOD.replace(old, new)


FAULTY: dict[str, str | bytes] = {
    "two-rules": GOOD + "u0 -> u1 : a & !b, z / z, 5\n",
    "two-rules-eps-top": GOOD + "u0 -> u1 : {a}, eps / A, 5\n",
    "silent-and-reading": GOOD + "u1 -> u0 : eps, A / eps, 0\n",
    "silent-loop-kept": GOOD + "u2 -> u3 : eps, z / z, 0\nu3 -> u2 : eps, z / z, 0\n",
    "silent-loop-growing": GOOD + "u2 -> u2 : eps, eps / A, 0\n",
    "silent-loop-regrown": GOOD
    + "u2 -> u3 : eps, # / A B #, 0\nu3 -> u3 : eps, A / eps, 0\nu3 -> u2 : eps, B / eps, 0\n",
    "unknown-state": swap("u0 -> u1 ", "u0 -> ul "),
    "unknown-start": swap("start     u0", "start     u9"),
    "unknown-event": swap("{t}", "{T}"),
    "unknown-event-in-formula": swap("{a}, A", "a & !tt, A"),
    "unknown-symbol": swap("z / A z", "z / C z"),
    "unknown-top": swap("A / eps", "AA / eps"),
    "z-not-looked-at": swap("A / eps", "A / z"),
    "bottom-missing": swap("stack     # A B", "stack"),
    "stack-missing": swap("stack     # A B\n", ""),
    "final-with-rules": GOOD + "done -> u0 : {a}, z / z, 0\n",
    "start-is-final": swap("start     u0", "start     done"),
    "otherwise-missing": swap("otherwise stay 0\n", ""),
    "otherwise-wrong": swap("otherwise stay 0", "otherwise jump 3"),
    "otherwise-unknown-state": swap("otherwise stay 0", "otherwise go lost -1"),
    "start-missing": swap("start     u0\n", ""),
    "reward-not-a-number": swap("1\nu1 -> done", "one\nu1 -> done"),
    "reward-not-finite": swap("10\n", "1e999\n"),
    "reward-nan": swap("10\n", "nan\n"),
    "two-definitions-header": GOOD + "start u1\n",
    "two-definitions-event": swap("events    a b t", "events    a b t a"),
    "two-definitions-map": GOOD + "map f a:b\nmap f b:a\n",
    "two-definitions-loop-variable": GOOD + "for a in u d:\n    u0 -> u1 : {t}, a / eps, 0\n",
    "reserved-symbol": swap("# A B", "# A B z"),
    "no-such-map": GOOD + "for x in a b:\n    u1 -> u0 : {bak(x)}, B / eps, 0\n",
    "map-without-value": GOOD + "map f a:b\nfor x in a b:\n    u1 -> u0 : {f(x)}, B / eps, 0\n",
    "unknown-keyword": swap("events  ", "evnets  "),
    "no-arrow": swap("u0 -> u1   :", "u0 => u1   :"),
    "no-colon": swap("u0 -> u1   :", "u0 -> u1"),
    "no-reward": swap("A / eps, 1", "A / eps"),
    "no-slash": swap("A / eps, 1", "A eps, 1"),
    "brace-open": swap("{t}, #", "{t, #"),
    "indented": swap("u0 -> u1  ", "  u0 -> u1  "),
    "tab-indented": GOOD + "for x in a b:\n\tu0 -> u1 : {t}, z / z, 0\n",
    "for-without-rules": GOOD + "for x in a b:\n",
    "too-deep": swap("{t}, #", "(" * 60 + "t" + ")" * 60 + ", #"),
    "too-many-negations": swap("{t}, #", "!" * 200 + "t, #"),
    "for-too-deep": GOOD + "".join(" " * depth + f"for v{depth} in a:\n" for depth in range(60)),
    "line-too-long": swap("{t}, #", "t" * 20_000 + ", #"),
    "not-utf-8": GOOD.encode().replace(b"done", b"d\xf6ne", 1),
    "several-names": swap("{t}", "{T}").replace("z / A z", "z / C z"),
    "several-lines": swap("final ", "fnial ").replace("A / eps", "A eps"),
    "json-not-json": "{'pdrm': 1}\n",
    "json-missing-key": '{"pdrm": 1, "start": "u", "rules": []}\n',
    "json-wrong-type": '{"pdrm": 1, "start": "u", "otherwise": {"do": "error"}, "events": "a", "rules": []}\n',
    "json-bad-rule": '{\n  "pdrm": 1, "start": "u", "otherwise": {"do": "error"}, "events": ["a"],\n  "rules": [\n'
    '    {"from": "u", "to": "u", "label": "a &", "reward": 1},\n    {"from": "u", "to": "v", "label": "b", "reward": "much"}\n  ]\n}\n',
    "json-too-deep": '{"pdrm": ' + "[" * 60 + "]" * 60 + "}",
    "reward-machine-code": "0\n[1]\n(0,1,'a',RewardForward())\n",
    "reward-machine-import": "0\n[1]\n(0,1,'a',__import__('os').system('x'))\n",
    "reward-machine-formula": "0\n[1]\n(0,1,'a&(b)',ConstantRewardFunction(1))\n",
    "counters-not-a-number": "events a\ncounters many\nstart u\notherwise error\nu -> u : a, [0] / [+1], 0\n",
    "counters-test": "events a\ncounters 1\nstart u\notherwise error\nu -> u : a, [2] / [+1], 0\n",
    "counters-and-stack": "events a\ncounters 1\nstack #\nstart u\notherwise error\nu -> u : a, [0] / [+1], 0\n",
    "rule-twice": GOOD + GOOD.splitlines()[-1] + "\n",
    "rule-twice-by-a-for": "events a b\nstack #\nstart u\notherwise error\nu -> u : a, z / z, 0\nfor x in a b:\n    u -> u : x & !b, z / z, 0\n    u -> u : x, z / z, 0\n",
    "json-rule-twice": '{"pdrm": 1, "start": "u", "otherwise": {"do": "error"}, "events": ["a"], "rules": ['
    '{"from": "u", "to": "u", "label": "a", "reward": 1}, {"from": "u", "to": "u", "label": "a", "reward": 1}]}\n',
    "counters-clash": "events a\ncounters 2\nstart u\notherwise error\nu -> u : a, [0, -] / [+1, 0], 0\nu -> u : a, [-, 1] / [0, 0], 0\n",
}
"""File name -> text or bytes of a file with one fault (some with several)."""
