"""Tests of the formats of machines and of tasks defined by words."""
