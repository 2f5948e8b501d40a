"""How fast do states grow with the number of parts, and how much of that does symmetry take away?

    python python/examples/growth.py FOLDER

writes growth.csv and growth.svg into the folder. Nothing but Python and the command `shoal` is needed.
"""

import csv
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import shoal_checker as shoal  # noqa: E402

SIZES = [1, 2, 3, 4]
WIDTH, HEIGHT, LEFT, BELOW = 480, 300, 60, 40


def measure(model):
    """For each number of clients: states that are there, and states that are stored."""
    stored = shoal.sweep(model, "N", SIZES, set={"VALUES": 1}, seconds=60)
    there = shoal.sweep(model, "N", SIZES, set={"VALUES": 1}, seconds=60, options=["--no-symmetry"])
    return [(size, full.states, one.states) for (size, full), (_, one) in zip(there, stored)]


def picture(rows):
    """A line for each column, on a logarithmic scale."""
    most = math.ceil(math.log10(max(row[1] for row in rows)))

    def x(size):
        return LEFT + (size - SIZES[0]) * (WIDTH - LEFT - 90) / (SIZES[-1] - SIZES[0])

    def y(states):
        return HEIGHT - BELOW - math.log10(states) * (HEIGHT - BELOW - 20) / most

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">']
    lines.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for power in range(most + 1):
        at = y(10**power)
        lines.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - 80}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for size in SIZES:
        lines.append(f'<text x="{x(size):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{size}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - 80) / 2:.0f}" y="{HEIGHT - 3}" text-anchor="middle">clients</text>')
    for column, name, colour in ((1, "states", "#b33"), (2, "stored", "#36a")):
        path = " ".join(f"{x(row[0]):.1f},{y(row[column]):.1f}" for row in rows)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        end = rows[-1]
        lines.append(f'<text x="{x(end[0]) + 6:.1f}" y="{y(end[column]) + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join(lines + ["</svg>", ""])


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rows = measure(ROOT / "models/murphi/german.m")
    with open(folder / "growth.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("clients", "states", "stored"), *rows])
    (folder / "growth.svg").write_text(picture(rows), encoding="utf-8")
    for size, states, stored in rows:
        print(f"{size} clients: {states:>9,} states, {stored:>7,} stored")


if __name__ == "__main__":
    main()
