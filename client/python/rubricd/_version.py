# SPDX-License-Identifier: MIT
__version__ = "0.1.0"  # as in meson.build; a test compares them
