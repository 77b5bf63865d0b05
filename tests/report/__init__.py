"""Tests of pdrm.report."""
