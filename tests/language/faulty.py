"""Faulty machine files. `places.txt` contains the codes and positions of their errors."""

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
    """The good file with one change."""
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
    "line-too-long": swap("{t}, #", "t" * 60_000 + ", #"),
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
"""Faulty files by name, as text or bytes."""


LONG = "x" * 41
"""A word that is too long for messages."""
COUNTING = "events a\ncounters 2\nstart u\nfinal f\notherwise error\n"
PLAIN = "events a\nstart u\nfinal f\notherwise error\n"
JSON = '{\n  "pdrm": 1, "start": "u", "events": ["a"], "stack": ["#"],\n  "otherwise": {"do": "stay", "reward": 0},\n  "rules": [\n    %s\n  ]\n}\n'
RULE = '{"from": "u", "to": "u", "label": "a", "top": "#", "push": ["#"], "reward": 0}'
AUTOMATON = """{"states": ["q"], "input_symbols": ["a"], "stack_symbols": ["0"], "initial_state": "q",
 "initial_stack_symbol": "0", "final_states": [],
 "transitions": {"q": {"a": {"0": ["q", "0"]}}}}
"""


def header(old: str, new: str) -> str:
    """A valid machine in JSON with changed headers."""
    assert old in JSON
    return (JSON % RULE).replace(old, new)


def rule(old: str, new: str) -> str:
    """A valid machine in JSON with a change in its only rule."""
    assert old in RULE
    return JSON % RULE.replace(old, new)


def automaton(old: str, new: str) -> str:
    """A valid automaton with one change."""
    assert old in AUTOMATON
    return AUTOMATON.replace(old, new)


FAULTY |= {
    "no-comma-before-the-reward": swap("{a}, A / eps, 1", "{a}, A / eps 1"),
    "nothing-after-the-label": swap("{a}, A / eps, 1", "{a}"),
    "reward-is-a-fraction": swap("{a}, A / eps, 1", "{a}, A / eps, 1/3"),
    "for-part-of-a-name": GOOD + "for s in a b:\n    u0 -> sdone : {a, b}, z / z, 0\n",
    "for-value-in-a-name": swap("start     u0", "start     a1")
    + "for s in a b:\n    s1 -> u0 : s, z / z, 0\n",
    "for-same-at-every-turn": GOOD + "for s in a b:\n    u0 -> u0 : {a, b}, z / z, 0\n",
    "for-many-faults": GOOD + "for s in c d e:\n    u0 -> u0 : {s, a}, z / z, 0\n",
    "silent-among-many": GOOD + "u0 -> u0 : eps, z / z, 0\n",
    "not-exclusive": GOOD
    + "u7 -> u0 : a, z / z, 0\nu7 -> u0 : b, z / z, 0\nu7 -> u0 : t, z / z, 0\n",
    "comment-line": GOOD + "# a comment, with: signs\n",
    "comment-after-a-rule": GOOD + "u0 -> u0 : {a, b}, z / z, 0 # a comment\n",
    "comment-after-start": swap("start     u0", "start     u0 # here"),
    "comment-after-otherwise": swap("otherwise stay 0", "otherwise stay 0 # wait"),
    "header-with-a-colon": swap("events    a b t", "events: a, b, t"),
    "decimal-comma": swap("A / eps, 1", "A / eps, 0,5"),
    "keyword-of-others": swap("start     u0", "initial   u0"),
    "quoted-event": swap("{t}", '"t"'),
    "quoted-symbol": swap("z / A z", "z / 'A' z"),
    "pop-by-name": swap("A / eps", "A / pop"),
    "epsilon-label": GOOD + "u2 -> u0 : epsilon, z / z, 0\n",
    "epsilon-push": swap("A / eps", "A / ε"),
    "any-top": swap("z / A z", "* / A z"),
    "any-label": GOOD + "u2 -> u0 : any, z / z, 0\n",
    "map-of-a-domain": "\nname     rooms\nplace k key\n\n#####\n#@.k#\n#####\n",
    "study": '\n// how much?\nname = "views"\n\n[[panels]]\ndomain = "map.txt"\n',
    "map-like-comment-line": GOOD + "####\n",
    "rule-without-a-top": GOOD + "u1 -> u0 : {b}, 0\n",
    "rule-with-two-tops": GOOD + "u1 -> u0 : {b}, A B / A, 0\n",
    "rule-with-counters": GOOD + "u1 -> u0 : {b}, [0] / [+1], 0\n",
    "counters-missing": PLAIN + "u -> f : a, [0] / [+1], 0\n",
    "counters-rule-without": COUNTING + "u -> f : a, 0\n",
    "counters-rule-with-a-stack": COUNTING + "u -> f : a, # / #, 0\n",
    "counters-few-tests": COUNTING + "u -> f : a, [0] / [+1, 0], 0\n",
    "counters-many-changes": COUNTING + "u -> f : a, [0, 0] / [+1, 0, 0], 0\n",
    "counters-long-test": COUNTING + f"u -> f : a, [0, {LONG}] / [+1, 0], 0\n",
    "counters-change": COUNTING + "u -> f : a, [0, 0] / [+1, 1.5], 0\n",
    "counters-long-change": COUNTING + f"u -> f : a, [0, 0] / [{LONG}, 0], 0\n",
    "counters-none": COUNTING.replace("counters 2", "counters 0"),
    "counters-too-many": COUNTING.replace("counters 2", "counters 17"),
    "counters-long-number": COUNTING.replace("counters 2", f"counters {LONG}"),
    "silent-without-a-stack": PLAIN + "u -> f : eps, 1\n",
    "two-words": swap("start     u0", "start     u0 u1"),
    "no-word": swap("name      task", "name"),
    "otherwise-reward": swap("otherwise stay 0", "otherwise stay much"),
    "otherwise-go-reward": swap("otherwise stay 0", "otherwise go u1 1e999"),
    "otherwise-too-much": swap("otherwise stay 0", "otherwise error 0"),
    "reward-long": swap("10\n", f"{LONG}\n"),
    "unknown-keyword-long": swap("events  ", f"{LONG} "),
    "unknown-keyword-comment": GOOD + "# done\n",
    "unknown-keyword-map": GOOD + "maps f\n",
    "unknown-keyword-for": GOOD + "fo x\n",
    "nothing": "",
    "nothing-but-a-rule": "u -> v : a, 1\n",
    "formula-too-large": f"events {' '.join(f'e{i}' for i in range(40))}\nstack #\nstart u\notherwise error\nu -> u : "
    f"{' | '.join(f'e{i} & e{i + 20}' for i in range(20))}, # / #, 0\nu -> u : e0, # / #, 0\n",
    "two-rules-of-no-top": GOOD + "u2 -> u0 : {a}, eps / A, 0\nu2 -> u1 : {a}, eps / B, 0\n",
    "two-rules-of-no-top-and-one": GOOD + "u2 -> u0 : {a}, eps / A, 0\nu2 -> u1 : {a}, B / B, 0\n",
    "two-silent-rules": GOOD + "u2 -> u0 : eps, A / A, 0\nu2 -> u1 : eps, A / B, 0\n",
    "two-rules-often": GOOD + "".join(f"u2 -> u0 : {{a}}, A / {'A ' * i}A, 0\n" for i in range(5)),
    "two-rules-twice": GOOD
    + "".join(f"u{i} -> u0 : {{t}}, A / A, 0\nu{i} -> u1 : {{t}}, A / A, 0\n" for i in (2, 3)),
    "unknown-keyword-far": swap("events  ", "qqqqqqqq"),
    "unknown-state-of-many": "".join(
        [PLAIN, *(f"u{i} -> u{i + 1} : a, 0\n" for i in range(9))]
    ).replace("start u", "start u0"),
    "unknown-source": swap("start     u0", "states    u0\nstart     u0"),
    "unknown-events": swap("events    a b t\n", ""),
    "unknown-exclusive": swap("stack ", "exclusive a c\nstack "),
    "two-definitions-map-key": GOOD + "map f a:b b:a a:t\n",
    "two-definitions-outer-variable": GOOD
    + "for x in a b:\n    for x in b a:\n        u1 -> u0 : {t}, B / eps, 0\n",
    "two-definitions-variable-is-a-state": GOOD
    + "for done in a b:\n    u1 -> u0 : {done}, B / eps, 0\n",
    "two-definitions-variable-is-a-symbol": GOOD
    + "for A in a b:\n    u1 -> u0 : {A}, B / eps, 0\n",
    "two-definitions-variable-is-the-start": GOOD
    + "for u0 in a b:\n    u1 -> u1 : {u0}, B / eps, 0\n",
    "two-definitions-variable-is-declared": swap("start ", "states    u0 u1 dead\nstart ")
    + "for dead in a b:\n    u1 -> u0 : {dead}, B / eps, 0\n",
    "reserved-variable": GOOD + "for z in A B:\n    u1 -> u0 : {b}, z / eps, 0\n",
    "reserved-event": swap("events    a b t", "events    a b t true"),
    "name-too-long": swap("name      task", f"name      {'n' * 101}"),
    "name-with-a-dash": swap("stack     # A B", "stack     # A B -C"),
    "map-of-a-map": GOOD + "map f a:b\nfor x in a b:\n    u1 -> u0 : {f(f(x))}, B / eps, 0\n",
    "map-in-a-condition": GOOD
    + "map f a:b\nfor x in a b where f(x) == b:\n    u1 -> u0 : {x}, B / eps, 0\n",
    "map-in-a-source": GOOD + "map f a:u1\nfor x in a b:\n    f(x) -> u0 : {x}, B / eps, 0\n",
    "map-in-a-target": GOOD + "map f a:u1\nfor x in a b:\n    u1 -> f(x) : {x}, B / eps, 0\n",
    "map-in-a-top": GOOD + "map f a:A\nfor x in a b:\n    u2 -> u0 : {x}, f(x) / eps, 0\n",
    "map-in-a-push": GOOD + "map f a:A\nfor x in a b:\n    u2 -> u0 : {x}, B / B f(x), 0\n",
    "map-in-a-reward": GOOD + "map pay a:1\nfor x in a b:\n    u1 -> u0 : {t}, B / eps, pay(x)\n",
    "no-such-map-alike": GOOD
    + "map back a:b\nfor x in a b:\n    u1 -> u0 : {bak(x)}, B / eps, 0\n",
    "for-condition": GOOD + "for x in a b where x < b:\n    u1 -> u0 : {x}, B / eps, 0\n",
    "for-without-a-colon": GOOD + "for x in a b\n    u1 -> u0 : {x}, B / eps, 0\n",
    "map-without-a-colon": GOOD + "map f a b\n",
    "an-odd-character": swap("{t}, #", "{t}; #"),
    "an-odd-guard": swap("{t}, #", "< {t}, #"),
    "an-odd-event": swap("{t}, #", "{<t}, #"),
    "an-odd-long-word": swap(
        "u1 -> done : {t}, # / #,   10", f"u1 -> done {LONG}: {{t}}, # / #, 10"
    ),
    "nothing-after-the-arrow": GOOD + "u1 ->\n",
    "several-in-one-loop": GOOD + "for x in a b:\n    u1 -> u0 : {x}, C / eps, one\n",
    "word-within-words": swap("events    a b t", "events    a b ta at t_ _t").replace(
        "{t}, #", "ta & at & t_ & _t & !t & !t, #"
    ),
    "word-in-the-comment": GOOD + "for x in q:\n    u1 -> u0 : {x}, B / eps, 0 // q\n",
    "word-before-the-comment": GOOD + "u1 -> u0 : {q, qq}, B / eps, 0 // q\n",
    "line-of-a-loop-too-long": GOOD
    + f"for x in a b:\n    u1 -> u0 : {{x}}, {'B ' * 30_000}/ eps, 0\n",
    "json-ends-early": '{\n  "pdrm": 1,\n  "start": "u"\n',
    "json-array": "[1]\n",
    "json-odd-character": '{\n  "pdrm": 1;\n}\n',
    "json-odd-number": '{\n  "pdrm": 1 "start": "u"\n}\n',
    "json-key-twice": header('"events"', '"start"'),
    "json-long-key-twice": header('"pdrm": 1', f'"pdrm": 1, "{LONG}": 1, "{LONG}": 2'),
    "json-not-a-number": rule('"reward": 0', '"reward": NaN'),
    "json-deeper": "[" * 100_000 + "]" * 100_000,
    "json-odd-word": header('"u"', "nothing"),
    "json-odd-escape": header('"u"', '"\\q"'),
    "json-null": header('"u"', "null"),
    "json-true": header('"u"', "true"),
    "json-false": header('"u"', "false"),
    "json-number-for-a-name": header('"u"', "1"),
    "json-array-for-a-name": header('"u"', "[]"),
    "json-object-for-a-name": header('"u"', "{}"),
    "json-version": header('"pdrm": 1', '"pdrm": 2'),
    "json-unknown-key": header('"events"', '"evnets"'),
    "json-long-unknown-key": header('"events"', f'"{LONG}"'),
    "json-list-of-numbers": header('["a"]', '["a", 1]'),
    "json-exclusive-flat": header('"events"', '"exclusive": ["a"], "events"'),
    "json-exclusive-number": header('"events"', '"exclusive": 1, "events"'),
    "json-counters-text": header('"stack": ["#"]', '"counters": "one"'),
    "json-counters-fraction": header('"stack": ["#"]', '"counters": 1.5'),
    "json-otherwise-text": header('{"do": "stay", "reward": 0}', '"stay"'),
    "json-otherwise-key": header('"do": "stay"', '"does": "stay"'),
    "json-otherwise-go": header('"do": "stay"', '"do": "go"'),
    "json-otherwise-unknown-state": header('"do": "stay"', '"do": "go", "to": "x"'),
    "json-otherwise-not-finite": header('"reward": 0}', '"reward": 1e999}'),
    "json-rules-missing": '{"pdrm": 1, "start": "u", "otherwise": {"do": "error"}}\n',
    "json-rules-no-list": '{"pdrm": 1, "start": "u", "otherwise": {"do": "error"}, "rules": 1}\n',
    "json-rule-no-object": JSON % "1",
    "json-rule-key": rule('"push"', '"pop"'),
    "json-rule-without-a-top": rule('"top": "#", ', ""),
    "json-rule-without-a-push": rule('"push": ["#"], ', ""),
    "json-rule-without-a-reward": rule(', "reward": 0', ""),
    "json-rule-with-tests": rule('"top": "#", "push": ["#"]', '"tests": ["0"], "changes": [1]'),
    "json-reward-not-finite": rule('"reward": 0', '"reward": -1e999'),
    "json-push-a-text": rule('["#"]', '"#"'),
    "json-top-a-number": rule('"top": "#"', '"top": 1'),
    "json-source-a-number": rule('"from": "u"', '"from": 1'),
    "json-target-a-number": rule('"to": "u"', '"to": 1'),
    "json-label-a-number": rule('"label": "a"', '"label": 1'),
    "json-label-with-a-map": rule('"label": "a"', '"label": "f(a)"'),
    "json-label-with-a-comment": rule('"label": "a"', '"label": "a // b"'),
    "json-label-with-a-comma": rule('"label": "a"', '"label": "a,"'),
    "json-on-one-line": '{"pdrm": 1, "name": "x", "start": "u", "events": ["x"], "otherwise": {"do": "error"}, "rules": '
    '[{"from": "u", "to": "x", "label": "x", "reward": 0}]}\n',
    "json-label-long": rule('"label": "a"', f'"label": "a {"b" * 60} "'),
    "json-tests-a-number": rule('"top": "#", "push": ["#"]', '"tests": 1, "changes": [1]'),
    "json-changes-texts": rule('"top": "#", "push": ["#"]', '"tests": ["0"], "changes": ["1"]'),
    "json-tests-alone": rule('"top": "#", "push": ["#"]', '"tests": ["0"]').replace(
        '"stack": ["#"]', '"counters": 1'
    ),
    "json-changes-alone": rule('"top": "#", "push": ["#"]', '"changes": [1]').replace(
        '"stack": ["#"]', '"counters": 1'
    ),
    "json-automaton-key": automaton('"final_states": [],', ""),
    "json-automaton-mode": automaton(
        '"final_states"', f'"acceptance_mode": "{LONG}", "final_states"'
    ),
    "json-automaton-move": automaton('["q", "0"]', '["q", "0", "0"]'),
    "json-automaton-push": automaton('["q", "0"]', '["q", 0]'),
    "json-automaton-pushes": automaton('["q", "0"]', '["q", [0]]'),
    "json-automaton-table": automaton('{"0": ["q", "0"]}', '["0", "q"]'),
    "json-automaton-state": automaton('["q", "0"]', '["r", "0"]'),
    "reward-machine-rule": "0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n  (0,1,'b')\n",
    "reward-machine-reward": "0\n[1]\n(0,1,'a',ConstantRewardFunction(much))\n",
    "reward-machine-no-reward": "0\n[1]\n(0,1,'a',ConstantRewardFunction())\n",
    "reward-machine-no-formula": "0\n[1]\n(0,1,'',ConstantRewardFunction(1))\n",
    "reward-machine-half-a-formula": '0\n[1]\n(0,1,"a & | b",ConstantRewardFunction(1))\n',
    "reward-machine-final-start": "0 # first\n[0]\n(0,1,'a',ConstantRewardFunction(1))\n",
    "reward-machine-clash": "0\n[2]\n(0,1,'a',ConstantRewardFunction(1))\n(0,2,'a|b',ConstantRewardFunction(1))\n",
}
