"""
The true areas of areas.json, in square metres, by a way of its own: python3 test/vectors/areas.py (Debian:
python3-mpmath) reads the polygons there and prints their areas: a ring, a shell and its holes, or two parallels round a
pole with equally many vertices.

A geodesic is the path in space of a point that is not accelerated along the ellipsoid (x'' is normal to it). Each edge is
integrated from its start by Gauss collocation of order 16 with 40 digits, and aimed until it meets its end to 1e-22 m.
The area is the integral over its longitude of that between the geodesic and a pole.
"""

import json
from pathlib import Path

from mpmath import atanh, cos, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 40
A = mpf(6378137)
F = 1 / mpf("298.257223563")
B = A * (1 - F)
E2 = F * (2 - F)
E = sqrt(E2)
WEIGHTS = [1 / A**2, 1 / A**2, 1 / B**2]
STAGES = 8
STEP = 20_000
SPACE = range(3)


def dot(p, q):
    return sum(x * y for x, y in zip(p, q))


def cross(p, q):
    return [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]


def unit(p):
    length = sqrt(dot(p, p))
    return [x / length for x in p]


def legendre_nodes(count):
    nodes = []
    for k in range(count):
        x = cos(pi * (k + mpf(3) / 4) / (count + mpf(1) / 2))
        for _ in range(30):
            last, value = mpf(1), x
            for n in range(2, count + 1):
                last, value = value, ((2 * n - 1) * x * value - (n - 1) * last) / n
            x -= value * (x * x - 1) / (count * (x * value - last))
        nodes.append((1 + x) / 2)
    return sorted(nodes)


NODES = legendre_nodes(STAGES)
POWERS = matrix(STAGES, STAGES)
for row in range(STAGES):
    for column in range(STAGES):
        POWERS[row, column] = NODES[column] ** row


def integrals(until):
    """What the values at the nodes count for in the integral from 0."""
    return list(lu_solve(POWERS, matrix([until ** (k + 1) / mpf(k + 1) for k in range(STAGES)])))


TO_END = integrals(mpf(1))
TO_NODE = [integrals(node) for node in NODES]


def in_space(longitude, latitude):
    lon, lat = mpf(longitude) * pi / 180, mpf(latitude) * pi / 180
    n = A / sqrt(1 - E2 * sin(lat) ** 2)
    return [n * cos(lat) * cos(lon), n * cos(lat) * sin(lon), n * (1 - E2) * sin(lat)]


def normal(p):
    return [w * x for w, x in zip(WEIGHTS, p)]


def acceleration(p, v):
    outward = normal(p)
    size = dot(normal(v), v) / dot(outward, outward)
    return [-size * x for x in outward]


def authalic(sine):
    return B * B / 2 * (sine / (1 - E2 * sine * sine) + atanh(E * sine) / E)


def area_per_length(p, v, pole):
    to_pole = authalic(mpf(1)) - pole * authalic(unit(normal(p))[2])
    return to_pole * (p[0] * v[1] - p[1] * v[0]) / (p[0] ** 2 + p[1] ** 2)


def travel(p, v, length, pole):
    """The end, the direction there, and the area to the pole."""
    steps = int(length / STEP) + 2
    h = length / steps
    area = mpf(0)
    for _ in range(steps):
        places = [[p[i] + h * node * v[i] for i in SPACE] for node in NODES]
        speeds = [v for _ in NODES]
        change = mpf(1)
        while change > mpf(10) ** -30:
            forces = [acceleration(*each) for each in zip(places, speeds)]
            speeds = [[v[i] + h * dot(row, [f[i] for f in forces]) for i in SPACE] for row in TO_NODE]
            moved = [[p[i] + h * dot(row, [s[i] for s in speeds]) for i in SPACE] for row in TO_NODE]
            change = max(abs(x - y) for m, q in zip(moved, places) for x, y in zip(m, q))
            places = moved
        forces = [acceleration(*each) for each in zip(places, speeds)]
        area += h * dot(TO_END, [area_per_length(*each, pole) for each in zip(places, speeds)])
        p = [p[i] + h * dot(TO_END, [s[i] for s in speeds]) for i in SPACE]
        v = [v[i] + h * dot(TO_END, [f[i] for f in forces]) for i in SPACE]
    return p, v, area


def edge_area(start, end, pole):
    if start[0] == end[0] or 90 in (abs(start[1]), abs(end[1])):
        return mpf(0)
    p, goal = in_space(*start), in_space(*end)
    outward = unit(normal(p))
    chord = [y - x for x, y in zip(p, goal)]
    ahead = unit([x - dot(chord, outward) * n for x, n in zip(chord, outward)])
    aside = cross(outward, ahead)
    length, turn = sqrt(dot(chord, chord)), mpf(0)
    while True:
        v = [cos(turn) * x + sin(turn) * y for x, y in zip(ahead, aside)]
        reached, direction, area = travel(p, v, length, pole)
        miss = [y - x for x, y in zip(reached, goal)]
        along, across = dot(miss, direction), dot(miss, cross(unit(normal(reached)), direction))
        if abs(along) + abs(across) < mpf(10) ** -22:
            return area
        length += along
        turn += across / (A * sin(length / A))


def ring_area(ring):
    pole = 1 if sum(latitude for _, latitude in ring) >= 0 else -1
    return abs(sum(edge_area(a, b, pole) for a, b in zip(ring, ring[1:])))


def parallel_area(latitude, count):
    """The cap within a parallel that is drawn with this many vertices, equally far apart."""
    return count * edge_area([0, latitude], [mpf(360) / count, latitude], 1 if latitude > 0 else -1)


def true_area(case):
    if "parallels" in case:
        parts = [parallel_area(*parallel) for parallel in case["parallels"]]
    else:
        parts = [ring_area(ring) for ring in case.get("rings", [case.get("ring")])]
    return parts[0] - sum(parts[1:])


if __name__ == "__main__":
    for each in json.loads(Path(__file__).with_suffix(".json").read_text()):
        print(mp.nstr(true_area(each), 20), flush=True)
