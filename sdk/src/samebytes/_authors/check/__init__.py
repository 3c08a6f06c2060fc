# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin`: the rules, each tried on an installed plugin.

`stages` runs in the process of the command and imports nothing of the plugin. Whatever does runs
in child processes: `child` is their main module, and `declaration`, `classes`, `contexts` and
`edges` hold the rules.
"""
