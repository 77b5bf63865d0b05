"""The table of small tasks on the page about networks is that of its record."""

from docs.scripts import van


def test_the_table_is_that_of_the_record():
    page = van.PAGE.read_text(encoding="utf-8")
    assert van.TABLE_START in page
    assert van.with_table(page) == page


def test_every_task_of_the_record_can_be_built(tmp_path):
    assert {"van", "garden", *van.HELD_OUT} <= van.find_tasks(tmp_path).keys()
