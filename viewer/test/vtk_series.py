"""VTK's own reader on a series, beside the CSV of the same run: vtk_series.py URTO WORK SCENE [options of `urto run`]

Bodies' surfaces must surround the recorded centres, points must move with them, and contact forces must hold what rests.
"""
import csv
import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

urto, work, scene = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
run, series = work / "vtk-run", work / "vtk-series"
subprocess.run([urto, "run", scene, "-q", "--csv", "--no-report", "-o", run, *sys.argv[4:]], check=True)
subprocess.run([urto, "export", run, "--vtk", series, "-q"], check=True)


def read(file):
    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(series / file))
    failures = []
    reader.AddObserver("ErrorEvent", lambda *_: failures.append(file))
    reader.Update()
    assert not failures, f"VTK complains of {file}"
    return reader.GetOutput()


states = {}
with open(run / "states.csv", newline="") as file:
    for row in csv.DictReader(file):
        states.setdefault(float(row["time"]), []).append(row)

sets = ElementTree.parse(series / "replay.pvd").getroot().findall("./Collection/DataSet")
times = sorted({float(s.get("timestep")) for s in sets})
assert times == sorted(states), "the series' times are not the run's"
names = {s.get("name") for s in sets}
assert {"bodies", "contacts"} <= names, names
assert len(sets) == len(names) * len(times)

most_contacts = 0
for entry in sets[:: max(len(sets) // 60, 1)]:
    data, time = read(entry.get("file")), float(entry.get("timestep"))
    if entry.get("name") == "bodies":
        bodies, velocity = data.GetCellData().GetArray("body"), data.GetPointData().GetArray("velocity")
        boxes, moving = {}, {}
        for cell in range(data.GetNumberOfCells()):
            ids, body = data.GetCell(cell).GetPointIds(), int(bodies.GetValue(cell))
            for k in range(ids.GetNumberOfIds()):
                point = data.GetPoint(ids.GetId(k))
                box = boxes.setdefault(body, [list(point), list(point)])
                for i in range(3):
                    box[0][i], box[1][i] = min(box[0][i], point[i]), max(box[1][i], point[i])
                moving.setdefault(body, []).append(velocity.GetTuple(ids.GetId(k)))
        order = [b for b in sorted(boxes) if len(boxes) - len(states[time]) <= sorted(boxes).index(b)]
        for body, state in zip(order, states[time]):
            centre = [float(state[a]) for a in "xyz"]
            low, high = boxes[body]
            assert all(low[i] <= centre[i] <= high[i] for i in range(3)), (state["body"], low, centre, high)
            # The surfaces are symmetric about the centre: their mean velocity is its velocity.
            for i, a in enumerate(("vx", "vy", "vz")):
                mean = sum(v[i] for v in moving[body]) / len(moving[body])
                scale = 1e-3 + max(math.hypot(*v) for v in moving[body])
                assert abs(mean - float(state[a])) < 0.02 * scale, (state["body"], a, mean, state[a])
    elif entry.get("name") == "contacts":
        point_data = data.GetPointData()
        most_contacts = max(most_contacts, data.GetNumberOfPoints())
        for k in range(data.GetNumberOfPoints()):
            force, normal = point_data.GetArray("force").GetTuple(k), point_data.GetArray("normal").GetTuple(k)
            pressure = sum(f * n for f, n in zip(force, normal))
            assert pressure >= -1e-6 * (1 + math.hypot(*force)), "a contact pulls"
            assert point_data.GetArray("gap").GetValue(k) < 0.01
assert most_contacts > 0, "no contact in the whole series"
print(f"ok      {len(sets)} files of {len(times)} frames read by VTK, up to {most_contacts} contacts")
