"""`pdrm fmt`: regular layout, without losing anything."""

import re

import pytest

from pdrm.errors import PdrmError
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text, parse
from pdrm.language.writer import lay_out, space_out, to_text


def test_the_machine_and_the_comments_stay():
    for name in catalogue_names():
        before = catalogue_text(name)
        after = lay_out(before, name)
        assert parse(after, f"{name}.pdrm") == catalogue(name)
        assert re.findall("//.*", after) == re.findall("//.*", before)
        assert lay_out(after, name) == after


def test_the_catalogue_is_laid_out():
    for name in catalogue_names():
        assert lay_out(catalogue_text(name), name) == catalogue_text(name)


def test_squeezed_text_is_laid_out_alike():
    for name in catalogue_names():
        lines = [
            line if line.startswith("    ") else re.sub(r"\s+", " ", line)
            for line in to_text(catalogue(name)).splitlines()
        ]
        assert lay_out("\n".join(lines), name) == to_text(catalogue(name))


LOOSE = """

// the task
name   loose
events a   b
final
map back  a : b   b:a // turns
  // a remark of its own


otherwise   stay   0  // wait


stack # A
start u
longest_state->u:{a ,b},z/A z,-1   //one
u -> u:!( a|b ),   #/#, 0
u->longest_state : eps,A/eps,0.5//two

for x in a b where x!=a  and  back( x )==a :   // both
  u -> f:{x},#/#,1
  for y in a:
      f2->f : {x,y}, eps / A A,  1 // here

      // there
  u->f : x, A/ eps, 1


// end
   """
NEAT = """// the task
name      loose
events    a b
final
map       back a:b b:a  // turns
// a remark of its own

otherwise stay 0  // wait

stack     # A
start     u
longest_state -> u             : {a, b},   z / A z, -1   //one
u             -> u             : !(a | b), # / #,   0
u             -> longest_state : eps,      A / eps, 0.5  //two

for x in a b where x != a and back(x) == a:  // both
    u -> f : {x}, # / #, 1
    for y in a:
        f2 -> f : {x, y}, eps / A A, 1  // here

        // there
    u -> f : x, A / eps, 1

    // end
"""


def test_all_of_the_layout():
    assert lay_out(LOOSE, "t") == NEAT
    assert lay_out(NEAT, "t") == NEAT
    assert lay_out("events a", "t") == "events    a\n"
    assert lay_out("\n \n", "t") == "\n"


def test_what_cannot_be_read_is_said_with_its_place():
    for text, place in (
        ("events a\nu -> : a, 1", "f.pdrm:2:6"),
        ("events a\nfor x in:", "f.pdrm:2:9"),
        ("x" * 50_001, "f.pdrm:1:50001"),
    ):
        with pytest.raises(PdrmError, match=place):
            lay_out(text, "f.pdrm")


def test_machines_are_written_in_full():
    for text in [
        "name      all\nevents    a b\nexclusive a b\nstack     # A\nstates    u dead\nstart     u\nfinal     f g\notherwise go f -1\n\n"
        "u -> dead : a, # / eps, 0\nu -> g    : b, A / A A, 1\n",
        "name      count\nevents    a\ncounters  2\nstates    u dead\nstart     u\nfinal\notherwise error\n\nu -> u : a, [0, -] / [+1, 0], 0\n",
        "name      plain\nevents    a\nstates    u v\nstart     u\nfinal     f\notherwise stay 0.5\n\nu -> f : a, 1\n",
        "name      bare\nevents\nstart     u\nfinal\notherwise stay 0\n",
    ]:
        assert to_text(parse(text)) == text


def test_spaces_between_words_and_signs():
    spaces = {
        "a&(b|c)": "a & (b | c)",
        "a & f(x)": "a & f(x)",
        "a|back_( x )": "a | back_(x)",
        "! ( a )": "!(a)",
        "A X": "A X",
        "X , Y": "X, Y",
        "a->b": "a -> b",
        "x!=y": "x != y",
        "x==y": "x == y",
        "[ 0,- ] / [+1 , -2]": "[0, -] / [+1, -2]",
        "_(a)": "_(a)",
    }
    assert {code: space_out(code) for code in spaces} == spaces
