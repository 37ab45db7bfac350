"""The Python module against closed forms and against the command's own numbers."""

import json
import math
import threading
import time

import numpy
import pytest

import urto


def ball(restitution=0.0, height=1.0, **simulation):
    return urto.scene(
        {
            "urto": 1,
            "title": "ball",
            "materials": {"steel": {"friction": 0.5, "restitution": restitution}},
            "bodies": [
                {
                    "name": "floor",
                    "kind": "fixed",
                    "shapes": [{"kind": "half-space", "material": "steel"}],
                },
                {
                    "name": "ball",
                    "position": [0, 0, height],
                    "density": 1000,
                    "shapes": [{"kind": "sphere", "radius": 0.1, "material": "steel"}],
                },
            ],
            "simulation": {"duration": 1.0, "step": 1e-3, **simulation},
        }
    )


def test_a_ball_falls_by_half_g_t_squared():
    simulation = urto.Simulation(ball(height=10.0))
    simulation.run_until(0.5)
    assert simulation.time == pytest.approx(0.5, abs=1e-12)
    # Of first order: the step's error is g h t / 2.
    assert simulation.position("ball")[2] == pytest.approx(10 - 0.5 * 9.81 * 0.25, abs=3e-3)
    assert simulation.velocity("ball")[2] == pytest.approx(-9.81 * 0.5, rel=1e-9)


def test_a_ball_at_rest_is_carried_by_its_weight():
    simulation = urto.Simulation(ball(height=0.1))
    simulation.step(200)
    contacts = simulation.contacts()
    assert len(contacts) == 1
    weight = 9.81 * 1000 * 4 / 3 * math.pi * 1e-3
    assert abs(contacts[0]["force"][2]) == pytest.approx(weight, rel=1e-6)
    assert set(contacts[0]["bodies"]) == {"ball", "floor"}
    assert simulation.report["residual"] < 1e-8


def test_views_follow_the_run_and_cannot_be_written():
    simulation = urto.Simulation(ball(height=10.0))
    q = simulation.q
    before = q.copy()
    simulation.step(10)
    assert q[2] < before[2]
    with pytest.raises(ValueError):
        q[2] = 0.0
    del simulation
    assert numpy.isfinite(q).all()  # the view keeps its run


def test_a_python_force_does_what_gravity_does():
    heavy = ball(height=10.0)
    weightless = heavy.replace(["gravity=[0,0,0]"])
    mass = 1000 * 4 / 3 * math.pi * 1e-3
    weightless.add_force("my weight", lambda t, q, v, force: force.__setitem__(2, -9.81 * mass))
    a, b = urto.Simulation(heavy), urto.Simulation(weightless)
    a.step(100)
    b.step(100)
    assert numpy.allclose(a.q, b.q, rtol=0, atol=1e-12)


def test_an_error_in_a_callback_is_raised_where_the_step_was_asked_for():
    scene = ball()

    def broken(t, q, v, force):
        raise KeyError("mine")

    scene.add_force("broken", broken)
    with pytest.raises(KeyError, match="mine"):
        urto.Simulation(scene).step()


def arm_with_motor(mode="force"):
    hinge = {
        "name": "hinge",
        "kind": "revolute",
        "bodies": ["world", "arm"],
        "position": [0, 0, 0],
        "axis": [0, 0, 1],
        "motor": {"name": "drive", "mode": mode, "value": 0},
    }
    return urto.scene(
        {
            "urto": 1,
            "gravity": [0, 0, 0],
            "bodies": [{"name": "arm", "mass": 1, "inertia": [0.1, 0.1, 0.1]}],
            "joints": [hinge],
            "simulation": {"duration": 10, "step": 1e-3},
        }
    )


def test_a_controlled_motor_gives_the_torque_it_is_told():
    simulation = urto.Simulation(arm_with_motor(), controls=["drive"])
    simulation.control("drive", 0.2)
    simulation.step(100)
    assert simulation.angular_velocity("arm")[2] == pytest.approx(0.2 / 0.1 * 0.1, rel=1e-9)
    simulation.control("drive", -0.2)
    simulation.step(100)
    assert simulation.angular_velocity("arm")[2] == pytest.approx(0.0, abs=1e-12)


def test_a_restored_run_goes_on_with_the_same_bits():
    simulation = urto.Simulation(ball(restitution=0.8, height=0.5))
    simulation.step(100)
    point = simulation.save()
    simulation.step(400)
    first = simulation.q.copy()
    simulation.restore(point)
    assert simulation.time == pytest.approx(point.time)
    simulation.step(400)
    assert (simulation.q == first).all()


def test_rollouts_have_the_bits_of_single_runs_on_any_number_of_threads():
    scene = arm_with_motor()
    rng = numpy.random.default_rng(20261119)
    controls = rng.normal(size=(6, 50, 1))
    q1, v1, steps = urto.rollout(scene, ["drive"], controls, 1)
    q2, v2, _ = urto.rollout(scene, ["drive"], controls, 2)
    assert q1.shape == (6, 51, scene.nq) and (steps == 50).all()
    assert (q1 == q2).all() and (v1 == v2).all()
    single = urto.Simulation(scene, controls=["drive"])
    for value in controls[3, :, 0]:
        single.control("drive", value)
        single.step()
    assert (single.q == q1[3, -1]).all()


def test_a_run_leaves_a_result_with_the_numbers_of_the_simulation(tmp_path):
    scene = ball(restitution=0.5, height=0.3, duration=0.6, output_step=0.1)
    calls = []
    result = urto.run(scene, tmp_path / "run", progress=lambda *numbers: calls.append(numbers))
    assert result.status == "finished" and result.verdict == "good"
    assert calls and calls[-1][1] == pytest.approx(0.6)
    assert result["position"].shape == (len(result.times), len(result.bodies), 3)
    simulation = urto.Simulation(scene)
    simulation.run_until(0.6)
    last = result["position"][-1, result.bodies.index("ball")]
    assert (last == simulation.position("ball")).all()
    assert len(result.steps("residual")) == 600
    assert (tmp_path / "run" / "report.html").exists()
    assert "verdict" in dict(result.summary)
    assert "<table>" in result._repr_html_()


def test_an_interrupting_progress_callback_ends_the_run_in_order(tmp_path):
    def stop(*_):
        raise RuntimeError("enough")

    scene = ball(duration=1000.0)
    with pytest.raises(RuntimeError, match="enough"):
        urto.run(scene, tmp_path / "run", progress=stop, page=False)
    assert urto.open_result(tmp_path / "run").status == "interrupted"


def test_a_step_problem_is_solved_with_its_certificate():
    # A mass of 2 kg hits the ground at 1 m/s while it slides at 3 m/s, friction 0.5: it loses
    # mu times the normal impulse of its tangential momentum.
    problem = urto.step_problem(
        H=2 * numpy.eye(3),
        J=[[0, 0, 1], [1, 0, 0], [0, 1, 0]],
        a=[6, 0, -2],
        b=[0, 0, 0],
        sets=[("cone", 0.5)],
    )
    for solver in ("auto", "nsgs", "prox"):
        solution = problem.solve(solver, tolerance=1e-10)
        assert solution["status"] == "converged"
        assert solution["x"] == pytest.approx([2.5, 0, 0], abs=1e-9)
        assert solution["certificate"]["residual"] < 1e-10


def test_problems_are_written_and_read_again(tmp_path):
    lcp = urto.complementarity_problem([[2, 1], [1, 2]], [-5, -6])
    urto.write_problem(tmp_path / "lcp.h5", lcp)
    z = urto.read_problem(tmp_path / "lcp.h5").solve()["z"]
    assert z == pytest.approx([4 / 3, 7 / 3], rel=1e-10)


def test_wrong_input_is_named():
    with pytest.raises(urto.InputError, match="mas"):
        urto.scene({"urto": 1, "bodies": [{"name": "ball", "mas": 1}]})
    with pytest.raises(urto.InputError, match="no such file"):
        urto.load("no-such-file.json")
    with pytest.raises(urto.InputError, match="no body named"):
        urto.Simulation(ball()).position("cube")
    with pytest.raises(urto.InputError, match="finite"):
        urto.Simulation(arm_with_motor(), controls=["drive"]).control("drive", math.nan)
    assert issubclass(urto.InputError, ValueError)


def test_other_threads_run_while_the_engine_steps():
    simulation = urto.Simulation(ball(duration=1e4))
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = len(ticks)
        while len(ticks) - before < 5:  # forever, if the lock were held
            simulation.step(2000)
    finally:
        stop.set()
        thread.join()


def test_statics_and_modes_of_a_hanging_spring():
    slide = {
        "name": "slide",
        "kind": "prismatic",
        "bodies": ["world", "mass"],
        "axis": [0, 0, 1],
    }
    scene = urto.scene(
        {
            "urto": 1,
            "bodies": [{"name": "mass", "mass": 2, "inertia": [0.1, 0.1, 0.1]}],
            "joints": [slide],
            "forces": [{"kind": "torsion-spring", "joint": "slide", "stiffness": 800}],
        }
    )
    rest = urto.statics(scene)
    assert rest["converged"]
    assert rest["q"][2] == pytest.approx(-2 * 9.81 / 800, rel=1e-6)
    found = urto.modes(scene)
    assert found["hertz"][0] == pytest.approx(math.sqrt(800 / 2) / (2 * math.pi), rel=1e-6)


def test_names_of_what_there_is():
    assert "auto" in urto.solvers() and "dvi" in urto.steppers()
    assert "lemke" in urto.complementarity_solvers()
    scene = ball()
    assert scene.moving_bodies == ["ball"] and scene.nq == 7 and scene.nv == 6
    assert json.loads(scene.json)["title"] == "ball"
