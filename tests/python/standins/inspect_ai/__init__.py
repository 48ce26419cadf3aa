# SPDX-License-Identifier: MIT
"""As much of Inspect as the adapter and its tests use, with the signatures of inspect_ai 0.3."""


class Task:
    def __init__(self, dataset=None, solver=None, scorer=None, sandbox=None, **options):
        self.dataset, self.solver, self.scorer, self.sandbox = dataset, solver, scorer, sandbox
