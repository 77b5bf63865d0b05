"""Tests of pdrm.paper."""
