"""The strategies that the paper compares ProCuRL with, and SFL, its closest relative."""
