#!/usr/bin/python3
"""Writes the scenes that Urto and its peers are measured on: NAME.json for Urto, NAME.scene for the others (scene.h).

usage: scenes.py FOLDER [NAME...]
"""
import json
import math
import os
import random
import sys

G = 9.81
IDENTITY = [1, 0, 0, 0]


def about_y(angle):
    return [math.cos(angle / 2), 0, math.sin(angle / 2), 0]


class Scene:
    def __init__(self, friction, step, duration):
        self.friction, self.step, self.duration = friction, step, duration
        self.planes, self.bodies, self.hinges = [], [], []
        self.extra = {}  # of Urto's alone

    def plane(self, normal, distance):
        self.planes.append((normal, distance))

    def body(self, mass, inertia, position, shape=None, rotation=IDENTITY, velocity=(0, 0, 0)):
        self.bodies.append(dict(mass=mass, inertia=inertia, position=list(position), shape=shape, rotation=rotation, velocity=list(velocity)))

    def ball(self, radius, density, position):
        mass = density * 4 / 3 * math.pi * radius**3
        self.body(mass, [0.4 * mass * radius**2] * 3, position, ('sphere', radius))

    def box(self, size, density, position, rotation=IDENTITY, velocity=(0, 0, 0)):
        x, y, z = size
        mass = density * x * y * z
        self.body(mass, [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12], position, ('box', *size), rotation, velocity)

    def text(self):
        lines = ['gravity 0 0 %r' % -G, 'friction %r' % self.friction]
        words = lambda *numbers: ' '.join(repr(float(x)) for x in numbers)
        for normal, distance in self.planes:
            lines.append('plane ' + words(*normal, distance))
        for b in self.bodies:
            lines.append('body ' + words(b['mass'], *b['inertia'], *b['position'], *b['rotation'], *b['velocity']))
            shape = b['shape']
            if shape and shape[0] == 'hull':
                lines.append('hull %d ' % len(shape[1]) + words(*(x for p in shape[1] for x in p)))
            elif shape:
                lines.append(shape[0] + ' ' + words(*shape[1:]))
        for a, b, point, axis in self.hinges:
            lines.append('hinge %d %d ' % (a, b) + words(*point, *axis))
        return '\n'.join(lines) + '\n'

    def json(self):
        ground = []
        for (x, y, z), d in self.planes:
            shape = {'kind': 'half-space', 'material': 'm', 'position': [x * d, y * d, z * d]}
            if z < 1 - 1e-12:
                turn, axis = math.degrees(math.acos(z)), [-y, x, 0]
                shape['rotation'] = {'axis': axis, 'degrees': turn}
            ground.append(shape)
        bodies = [{'name': 'ground', 'kind': 'fixed', 'shapes': ground}] if ground else []
        for i, b in enumerate(self.bodies):
            body = {'name': 'b%d' % i, 'position': b['position'], 'rotation': b['rotation'], 'mass': b['mass'], 'inertia': b['inertia'], 'shapes': []}
            if any(b['velocity']):
                body['velocity'] = b['velocity']
            shape = b['shape']
            if shape:
                made = {'kind': shape[0], 'material': 'm'}
                made.update({'sphere': lambda: {'radius': shape[1]}, 'box': lambda: {'size': list(shape[1:])},
                             'hull': lambda: {'points': shape[1]}}[shape[0]]())
                body['shapes'] = [made]
            bodies.append(body)
        joints = [{'name': 'j%d' % k, 'kind': 'revolute', 'bodies': ['world' if a < 0 else 'b%d' % a, 'b%d' % b], 'position': point, 'axis': axis}
                  for k, (a, b, point, axis) in enumerate(self.hinges)]
        scene = {'urto': 1, 'materials': {'m': {'friction': self.friction}}, 'bodies': bodies, 'joints': joints,
                 'simulation': {'duration': self.duration, 'step': self.step}}
        scene.update(self.extra)
        return json.dumps(scene)


def pile(count, duration=1.5):
    """Balls that fall into an open box."""
    r = 0.05
    side = 5 if count <= 125 else 10 if count <= 1000 else 16 if count <= 4096 else math.ceil(count ** (1 / 3) - 1e-9)
    pitch = 2.2 * r
    wide = side * pitch
    s = Scene(0.3, 2e-3, duration)
    for n, d in (((0, 0, 1), 0), ((1, 0, 0), -wide / 2), ((-1, 0, 0), -wide / 2), ((0, 1, 0), -wide / 2), ((0, -1, 0), -wide / 2)):
        s.plane(n, d)
    g = 12345

    def shift():
        nonlocal g
        g = (g * 1664525 + 1013904223) & 0xffffffff
        return ((g >> 8) / 16777216.0 * 2 - 1) * 0.08 * r

    for i in range(count):
        k, j, l = i // side**2, i // side % side, i % side
        x = (l + 0.5) * pitch - wide / 2 + shift()
        s.ball(r, 1000, [x, (j + 0.5) * pitch - wide / 2 + shift(), (k + 0.5) * pitch + 0.01])
    return s


def wall(duration=10.0, courses=10, length=10):
    """Bricks in running bond."""
    w, d, h, gap = 0.25, 0.12, 0.065, 1e-4
    s = Scene(0.5, 2e-3, duration)
    s.plane((0, 0, 1), 0)
    for k in range(courses):
        for i in range(length - k % 2):
            s.box((w, d, h), 2000, [(i + 0.5 * (k % 2)) * (w + gap), 0, (k + 0.5) * h])
    return s


def arch(stones=20, duration=10.0):
    """A half circle of wedges that stands by its weight."""
    inner, outer, depth, half = 0.85, 1.15, 0.3, math.pi / stones / 2
    s = Scene(0.6, 2e-3, duration)
    s.plane((0, 0, 1), 0)
    # A wedge is symmetric about its middle radius: centroid and inertia of a sector's trapezium.
    corners = [(r * math.cos(t), r * math.sin(t)) for r, t in ((inner, -half), (outer, -half), (outer, half), (inner, half))]
    area = cx = ixx = izz = 0
    for (x0, z0), (x1, z1) in zip(corners, corners[1:] + corners[:1]):
        c = x0 * z1 - x1 * z0
        area += c / 2
        cx += (x0 + x1) * c / 6
        ixx += (z0 * z0 + z0 * z1 + z1 * z1) * c / 12
        izz += (x0 * x0 + x0 * x1 + x1 * x1) * c / 12
    cx /= area
    izz -= area * cx * cx
    mass = 2000 * area * depth
    sx, sz = mass * ixx / area, mass * izz / area  # second moments along z and along x
    sy = mass * depth**2 / 12
    points = [[x - cx, y, z] for x, z in corners for y in (-depth / 2, depth / 2)]
    for k in range(stones):
        angle = (2 * k + 1) * half
        s.body(mass, [sx + sy, sx + sz, sz + sy], [cx * math.cos(angle), 0, cx * math.sin(angle)], ('hull', points), about_y(-angle))
    return s


def cards(levels, duration=10.0):
    """A house of cards: tents of two, lying cards between its storeys."""
    wide, deep, thick, lean = 0.088, 0.063, 0.002, math.radians(20)
    high = wide * math.cos(lean) + thick * math.sin(lean)
    half = wide * math.sin(lean) + thick * math.cos(lean)
    pitch = 2 * half
    s = Scene(0.6, 2e-3, duration)
    s.plane((0, 0, 1), 0)
    for level in range(levels):
        z, x, tents = level * (high + thick), level * pitch / 2, levels - level
        for i in range(tents):
            for sign in (1, -1):
                s.box((thick, deep, wide), 600, [x + i * pitch + (0.5 if sign > 0 else 1.5) * half, 0, z + high / 2], about_y(sign * lean))
        for i in range(tents - 1):
            s.box((pitch - 1e-4, deep, thick), 600, [x + 2 * half + i * pitch, 0, z + high + thick / 2])
    return s


def chain(links=100, duration=2.0):
    """Rods hinged one to the next, released level."""
    l = 0.1
    s = Scene(0, 1e-3, duration)
    for i in range(links):
        s.body(1.0, [l * l / 120, l * l / 12, l * l / 12], [(i + 0.5) * l, 0, 0])
        s.hinges.append((i - 1, i, [i * l, 0, 0], [0, 1, 0]))
    return s


def slide(duration=1.0):
    """A cube at 6 m/s on rough ground."""
    s = Scene(0.5, 2e-3, duration)
    s.plane((0, 0, 1), 0)
    s.box((0.2, 0.2, 0.2), 1000, [0, 0, 0.1], velocity=(6, 0, 0))
    return s


def stack(duration=2.0):
    """Ten boxes, the top one a thousand times heavier."""
    s = Scene(0.3, 2e-3, duration)
    s.plane((0, 0, 1), 0)
    for i in range(10):
        s.box((0.2, 0.2, 0.2), 1000 / 8 * (1000 if i == 9 else 1), [0, 0, 0.2 * i + 0.1])
    return s


def vehicles(count, duration=6.0):
    """Chassis, four sprung hubs, four driven wheels each, on rough ground. For Urto alone."""
    chance = random.Random(3)
    side, spacing = 81, 0.5
    heights = [[0.15 * math.sin(0.35 * i) * math.cos(0.3 * j) + 0.03 * chance.random() for i in range(side)] for j in range(side)]
    bodies = [{'name': 'terrain', 'kind': 'fixed', 'shapes': [{'kind': 'height-field', 'spacing': spacing, 'heights': heights, 'material': 'm'}]}]
    joints, forces, apart = [], [], []
    for c in range(count):
        x, y, z = -15, (-12 + 3 * c) if count > 1 else 0, 1.1
        bodies.append({'name': 'chassis%d' % c, 'position': [x, y, z], 'mass': 800, 'shapes': [{'kind': 'box', 'size': [2.6, 1.2, 0.4], 'material': 'm'}]})
        for k, (dx, dy) in enumerate([(1, 0.8), (1, -0.8), (-1, 0.8), (-1, -0.8)]):
            hub, wheel, at = 'hub%d-%d' % (c, k), 'wheel%d-%d' % (c, k), [x + dx, y + dy, z - 0.4]
            bodies.append({'name': hub, 'position': at, 'mass': 15, 'inertia': [0.2, 0.2, 0.2], 'shapes': []})
            bodies.append({'name': wheel, 'position': at, 'mass': 20, 'shapes': [{'kind': 'cylinder', 'radius': 0.35, 'length': 0.2, 'margin': 0.03,
                           'rotation': {'axis': [1, 0, 0], 'degrees': 90}, 'material': 'm'}]})
            apart.append(['chassis%d' % c, wheel])
            joints.append({'name': 'suspension%d-%d' % (c, k), 'kind': 'prismatic', 'bodies': ['chassis%d' % c, hub], 'position': at, 'axis': [0, 0, 1],
                           'limits': {'displacement': [-0.2, 0.2]}})
            forces.append({'kind': 'torsion-spring', 'joint': 'suspension%d-%d' % (c, k), 'coordinate': 'displacement', 'rest': -0.08,
                           'stiffness': 25000, 'damping': 2500})
            joints.append({'name': 'axle%d-%d' % (c, k), 'kind': 'revolute', 'bodies': [hub, wheel], 'position': at, 'axis': [0, 1, 0],
                           'motor': {'mode': 'speed', 'value': {'step': {'t0': 0.5, 't1': 2, 'y0': 0, 'y1': 12}}, 'max_force': 400}})
    s = Scene(0.8, 2e-3, duration)
    s.extra = {'exclude': apart, 'bodies': bodies, 'joints': joints, 'forces': forces}
    return s


SCENES = {
    'pile125': lambda: pile(125), 'pile1000': lambda: pile(1000), 'pile4000': lambda: pile(4000),
    'pile10000': lambda: pile(10000, 0.2), 'pile100000': lambda: pile(100000, 0.1),
    'wall95': wall, 'arch20': arch, 'cards40': lambda: cards(5), 'cards610': lambda: cards(20, 0.4),
    'chain100': chain, 'slide': slide, 'stack10': stack,
    'vehicle1': lambda: vehicles(1), 'vehicle8': lambda: vehicles(8),
}


def write(folder, names=()):
    os.makedirs(folder, exist_ok=True)
    for name in names or SCENES:
        scene = SCENES[name]()
        with open(os.path.join(folder, name + '.scene'), 'w') as f:
            f.write(scene.text())
        with open(os.path.join(folder, name + '.json'), 'w') as f:
            f.write(scene.json())


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2:])
