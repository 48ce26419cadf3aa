# SPDX-License-Identifier: MIT
"""As much of DeepEval as the adapter and its tests use."""
