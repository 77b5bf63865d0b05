# ruff: noqa
"""The fixed examples of the baseline: machines and words, grammars, formulas, tasks for check-k."""

from __future__ import annotations

LETTER = """\
name      letter
events    A B C
stack     # A
start     u0
final     done
otherwise stay -0.01

u0 -> u0   : {A}, z / A z, -0.01
u0 -> u1   : {B}, z / z,   -0.01
u1 -> u1   : {C}, A / eps, -0.01
u1 -> done : {C}, # / #,   1
"""
MAZE = """\
name      maze
events    u d l r t x
exclusive u d l r
stack     # u d l r
start     search
final     home lost
otherwise stay 0
map back  u:d d:u l:r r:l

for a in u d l r:
    search -> search : a & !t,            z / a z, 0
    search -> return : a & t,             z / a z, 1
    return -> return : back(a) & !x,      a / eps, 1
    return -> home   : back(a) & x,       a / eps, 1e5
    for b in u d l r where b != back(a):
        return -> lost : b,               a / eps, -1e5
"""
HEAD = "events a b c\nexclusive a b c\nstack # A B\nstart u\nfinal f\n"
THROW = """\
name      throw
events    call ret throw
exclusive call ret throw
stack     # F
start     run
final     done
otherwise stay -0.1
run  -> run  : call,  z / F z, 0
run  -> run  : ret,   F / eps, 0.2
run  -> fly  : throw, z / z,   0
fly  -> fly  : eps,   F / eps, 1
fly  -> done : eps,   # / #,   2
"""
TORO = """0 # initial state
[3] # terminal state
(0,0,'!f&!g',ConstantRewardFunction(0))
(0,1,'f&!g',ConstantRewardFunction(0.5))
(1,1,'!g',ConstantRewardFunction(-1))
(1,3,'g',ConstantRewardFunction(1))
"""
DPDA = """{"states": ["q0", "q1", "q2", "q3"], "input_symbols": ["a", "b"], "stack_symbols": ["0", "1"],
"transitions": {"q0": {"a": {"0": ["q1", ["1", "0"]]}},
 "q1": {"a": {"1": ["q1", ["1", "1"]]}, "b": {"1": ["q2", ""]}},
 "q2": {"b": {"1": ["q2", ""]}, "": {"0": ["q3", ["0"]]}}},
"initial_state": "q0", "initial_stack_symbol": "0", "final_states": ["q3"], "acceptance_mode": "final_state"}
"""
JSON = """{
  "pdrm": 1,
  "name": "machine",
  "events": ["a", "b"],
  "stack": ["#", "A"],
  "start": "u",
  "final": ["f"],
  "otherwise": {"do": "stay", "reward": -0.5},
  "rules": [
    {"from": "u", "to": "u", "label": "a & !b", "top": "z", "push": ["A", "z"], "reward": 0.0},
    {"from": "u", "to": "f", "label": "{b}", "top": "A", "push": [], "reward": 1.0},
    {"from": "u", "to": "v", "label": "{a, b}", "top": "#", "push": ["#"], "reward": 1.0},
    {"from": "v", "to": "u", "label": "eps", "top": "#", "push": ["A", "#"], "reward": 2.0}
  ]
}
"""

# name -> (text, words)
TEXTS: dict[str, tuple[str, list[str]]] = {
    "letter": (LETTER, ["A A B C C C", "B C", "A B C", "C - A+B", ""]),
    "for, map, where, exclusive": (MAZE, ["d d+t u u+x", "d r+t l u+x", "d t+r u", "u d l r+t x"]),
    "otherwise go": (HEAD + "otherwise go f -3\nu -> u : a, z / A z, 1\n", ["a a b", "c"]),
    "otherwise error": (HEAD + "otherwise error\nu -> u : a, z / A z, 1\n", ["a a", "a b"]),
    "named top beats z": (
        HEAD + "otherwise stay 0\nu -> u : a, z / A z, 1\nu -> f : a, A / B A, 5\n",
        ["a a", "a"],
    ),
    "formulas": (
        HEAD + "otherwise stay 0\nu -> f : a | !(b | c) & true, z / z, 1\n",
        ["b", "a", "-"],
    ),
    "empty set": (HEAD + "otherwise stay 0\nu -> f : {}, z / z, 1\n", ["b -"]),
    "silent": (
        HEAD
        + "otherwise stay 0\nu -> v : a, z / A A z, 1\nv -> v : eps, A / eps, 2\nv -> f : eps, # / #, 4\n",
        ["b a"],
    ),
    "silent at the start": (
        HEAD + "otherwise stay 0\nu -> v : eps, # / A #, 3\nv -> f : a, A / eps, 1\n",
        ["a", ""],
    ),
    "eps top": (
        HEAD + "otherwise stay 0\nu -> u : a, eps / A B, 1\nu -> u : b, z / eps, 2\n",
        ["a a b b b b b b a", "b b a"],
    ),
    "long push": (
        HEAD + "otherwise stay 0\nu -> u : a, # / A B A B #, 1\nu -> u : a, A / B A, 0\n",
        ["a a"],
    ),
    "states": (
        "events a\nstates u v\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> v : a, z / z, 1\n",
        ["a a"],
    ),
    "no name, comments": (
        "// a comment\nevents a // more\nstack #\nstart u\nfinal f\notherwise stay 0\n\nu -> f : a, # / #, 1e-3 // end\n",
        ["a"],
    ),
    "reward machine": (
        "events a b\nstart u\nfinal f\notherwise stay 0\nu -> v : a & !b, 0.5\nv -> f : true, 1\n",
        ["a+b a b", "b a -"],
    ),
    "counting": (
        "events A B C\nexclusive A B C\ncounters 2\nstart u\nfinal f\notherwise stay 0\n"
        "u -> u : A, [-,-] / [1,0], 0\nu -> v : B, [1,-] / [-1,1], 2\nv -> f : C, [0,1] / [0,-1], 5\n",
        ["A B C", "A A B C", "B A B C"],
    ),
    "decimals": (
        HEAD + "otherwise stay 0\nu -> u : a, z / z, 0.1\nu -> u : b, z / z, 1e-7\n",
        ["a a a b", "a b a b a"],
    ),
    "two exclusive groups": (
        "events a b c d\nexclusive a b\nexclusive c d\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : a & c, z / z, 1\nu -> f : b & c, z / z, 2\n",
        ["a b+c", "a+d a+c"],
    ),
    "for over states": (
        "events l r key\nexclusive l r\nstart begin\nfinal done\notherwise stay 0\nmap first l:l1 r:r1\n\n"
        "for s in l r:\n    begin -> first(s) : {s}, 0\n    first(s) -> done : {s, key}, 1\n",
        ["l l+key", "r l+key r+key"],
    ),
    "where with == and and": (
        "events a b c\nexclusive a b c\nstack # a b c\nstart u\nfinal f\notherwise stay 0\n\n"
        "for x in a b c where x != a and x == b:\n    u -> f : x, z / x z, 1\n",
        ["a c b"],
    ),
    "throw and unwind": (THROW, ["call call ret call throw", "throw"]),
    "Toro Icarte": (TORO, ["- f f g", "g", "f+g"]),
    "automata-lib DPDA": (DPDA, ["a b end", "a a b end", "a a b b end", "end"]),
    "JSON": (JSON, ["a a b", "a+b a b", "b"]),
}

GRAMMARS: dict[str, tuple[str, dict, list[str]]] = {
    "LL(1)": (
        'start: "open" visit "close"\nvisit: "open" visit "close" | "gem"',
        {},
        ["open open gem close close", "open gem gem"],
    ),
    "repeats": (
        'start: "a"? ("b" | "c")* "d"+ "e" ~ 2 "f" ~ 1..3',
        {"accept": "end"},
        ["a b c d e e f end", "d d e e f f f end", "d e f end"],
    ),
    "brackets []": ('start: "a" ["b"] "c"', {}, ["a b c", "a c", "a b b"]),
    "guards": ('start: "u & !t" start | "t"', {"exclusive": ()}, ["u u u+t", "t"]),
    "LR(1), left recursion": (
        'start: sum "is"\nsum: sum "plus" part | part\npart: "number" | "open" sum "close"',
        {},
        ["number plus open number plus number close is", "plus"],
    ),
    "complete": (
        'start: pair+\npair: "open" pair* "close"',
        {"accept": "end", "complete": {"pair": 5}, "fail": -1, "step": -0.1, "reward": 7},
        ["open open close close open close end", "open end"],
    ),
    "fail ignore": ('start: "a" "b"', {"fail": "ignore"}, ["b b a a b"]),
    "more events": ('start: "a" "b"', {"events": ["c"]}, ["a c b"]),
    "empty alternative": (
        'start: "a" rest\nrest: "b" rest | ',
        {"accept": "end"},
        ["a b b end", "a end", "b end"],
    ),
    "palindrome with mark": (
        'start: "0" start "0" | "1" start "1" | "x"',
        {},
        ["0 1 x 1 0", "0 x 1"],
    ),
    "ambiguous": ('start: "if" start ["else" start] | "x"', {"accept": "end"}, []),
    "not LR(1)": ('start: one "a" "x" "p" | two "a" "x" "q"\none: "z"\ntwo: "z"', {}, []),
    "unknown rule": ('start: pair*\npair: "open" pear* "close"', {}, []),
}

LTLF: dict[str, tuple[dict, list[str]]] = {
    "F a": ({}, ["b? a".replace("b? ", "- ")]),
    "F(a & X F b)": ({}, ["a b", "a+b b", "b a"]),
    "G(a -> F b)": ({"accept": "end"}, ["a b end", "a end", "end"]),
    "!a U b": ({"fail": -1}, ["- b", "a"]),
    "a W b": ({"accept": "end"}, ["a a end", "a b end", "- end"]),
    "a R b": ({"accept": "end"}, ["b b end", "b a+b end", "a end"]),
    "a M b": ({"accept": "end"}, ["b b end", "b a+b end"]),
    "X X a": ({}, ["- - a", "a a b"]),
    "WX a": ({"accept": "end"}, ["- end", "- a end", "- - end"]),
    "N a": ({"accept": "end"}, ["- end", "- - end"]),
    "b & Y a": ({}, ["a b", "b a", "b"]),
    "b & Z a": ({}, ["b", "a b"]),
    "c & O a & O b": ({}, ["a b c", "c a b c"]),
    "H a": ({"accept": "end"}, ["a a end", "a - end"]),
    "b S a": ({"accept": "end"}, ["a b b end", "b end"]),
    "b T a": ({"accept": "end"}, ["a a end", "a b end"]),
    "F(b & Y F a)": ({"accept": "end"}, ["a b end", "b a end", "b b end"]),
    "!plant U (office & O coffee)": (
        {"fail": -1, "step": -0.1, "reward": 10},
        ["- coffee - office", "office plant", "coffee plant"],
    ),
    "first & a | F(last & b)": ({"accept": "end"}, ["a end", "- b end", "- - end"]),
    "a <-> b": ({"accept": "end"}, ["a+b end", "a end"]),
    'F "U"': ({}, ["- U"]),
    "F a &": ({}, []),
    "G a": ({}, ["a"]),
}
DECLARE = {
    1: "existence existence2 existence3 absence absence2 absence3 exactly1 exactly2 init last avoid",
    2: "choice exclusive_choice responded_existence co_existence response alternate_response chain_response precedence "
    "alternate_precedence chain_precedence succession alternate_succession chain_succession not_co_existence not_succession "
    "not_chain_succession before sequence",
    3: "sequence3",
}
DECLARE_WORDS = [
    "end",
    "a end",
    "b end",
    "a b end",
    "b a end",
    "a a b end",
    "a b a end",
    "a - b end",
    "a b a b end",
    "a b c end",
    "a+b end",
]

REGEX: dict[str, tuple[dict, list[str]]] = {
    '"a" ("b" | "c")* "d"': ({}, ["a b c d", "a d", "d", "a - b d"]),
    '"list" ("milk" | "bread")+ "till"': (
        {"step": -0.1},
        ["list - milk bread till", "milk list till"],
    ),
    '"a"? "b" ~ 3 "c" ~ 1..2': ({"accept": "end"}, ["a b b b c end", "b b b c c end", "b b c end"]),
    '"u & !t"* "t"': ({"exclusive": ()}, ["u u u+t", "t"]),
    '"a" "b"': ({"fail": "ignore"}, ["b a a b"]),
    '"a" ("b"': ({}, []),
}

COMBINATIONS = {
    "and": (["letter", "F C"], {}, ["A B C C"]),
    "or": (["letter", "F C"], {"when": "or"}, ["A B C C"]),
    "formula, weights": (
        ["letter", "F C"],
        {"when": "one & two", "weights": {"two": 0.5}},
        ["A B C C", "C B C"],
    ),
    "end": (["letter", "F C"], {"when": "one & !two", "accept": "end"}, ["B end", "B C end"]),
    "two stacks that move together": (
        ["treasure-maze", "figure-1"],
        {"weights": {"two": 100}},
        ["u d+t u d+x", "d r+t l u+x"],
    ),
    "two stacks that do not": (["treasure-maze", "anbn"], {}, []),
}

ANBB = """\
name      anb2n
events    a b
exclusive a b
stack     # A
start     u
final     done
otherwise stay -0.01
u -> u    : a,   z / A A z, -0.01
u -> v    : b,   A / eps,   -0.01
v -> v    : b,   A / eps,   -0.01
v -> done : eps, # / #,     1
"""
ANBB_MAP = """\
name anb2n
step_limit 60
standing yes
place a a
place b b

#######
#a.@.b#
#######
"""
XML = """\
reward   100
fail     -10
step     -0.1
complete element 5

start: "open_doc" element "close_doc"
element: "open_a" element* "close_a" | "open_b" element* "close_b" | "text"
"""
XML_MAP = """\
name xml
step_limit 80
place D open_doc
place d close_doc
place A open_a
place a close_a
place B open_b
place b close_b
place t text

#########
#D.A.B..#
#...@..t#
#d.a.b..#
#########
"""
THROW_MAP = """\
name throw
step_limit 40
place c call
place r ret
place t throw

#######
#c.@.r#
#..t..#
#######
"""
GOAL = "name goal\nevents goal left right\nstart u\nfinal done\notherwise stay 0\nu -> done : goal, 1\n"
FETCH = """\
name      ways
events    left right goal
exclusive left right
stack     # L R
start     u
final     done
otherwise stay 0
u -> u    : left & !goal,  z / L z, 0
u -> u    : right & !goal, z / R z, 0
u -> v    : left & goal,   z / z, 1
u -> v    : right & goal,  z / z, 1
v -> v    : left,  R / eps, 1
v -> v    : right, L / eps, 1
v -> done : eps,   # / #,   5
"""
