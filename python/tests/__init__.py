"""Tests of gemm_suite: python -m unittest discover -t . -s tests"""
