"""Programs that nobody here wrote on the same meshes: felupe, CalculiX, MuJoCo and Drake.

Each answer is computed where its program is installed (`make bench-peers`, `PLIANT_PEERS`; CalculiX is a Debian
package) and taken from `figures.json` elsewhere, with the version that computed it. `python -m validation.peers` writes
that file anew with what is installed.
"""
