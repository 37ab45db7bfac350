"""Draws the panels that `urto plot` and `urto compare` wrote: plot.py numbers.json picture.{png,svg,pdf}"""
import json
import os
import sys
import tempfile

os.environ.setdefault("MPLCONFIGDIR", os.path.join(tempfile.gettempdir(), "urto-matplotlib"))
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# The same numbers give the same bytes: no dates, no random ids.
plt.rcParams.update({
    "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "legend.fontsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e3e7ee", "grid.linewidth": 0.6,
    "axes.edgecolor": "#5c6778", "lines.linewidth": 1.2, "svg.hashsalt": "urto", "svg.fonttype": "none", "savefig.dpi": 200,
    "axes.prop_cycle": plt.cycler(color=["#2563c9", "#d9702a", "#2a8f63", "#8552bf", "#c23a55", "#1e8a99", "#a4801d", "#5d6878"]),
    "legend.frameon": False,
})


def number(x):
    return float("nan") if x is None else x


def draw(axes, panel):
    along_too = panel["log_along"]
    for series in panel["series"]:
        values = [number(x) for x in series["values"]]
        if panel["log"]:
            values = [x if x > 0 else float("nan") for x in values]
        at = [number(x) for x in series["along"]] or panel["time"]
        style = {"color": f"C{series['colour'] % 8}"} if series["colour"] >= 0 else {}
        if panel["marks"]:
            style |= {"marker": "o", "markersize": 3.5}
        axes.plot(at, values, label=series["name"], **style)
    if panel["log"] and any(x and x > 0 for s in panel["series"] for x in s["values"]):
        axes.set_yscale("log")
    if along_too and any(x and x > 0 for s in panel["series"] for x in s["along"]):
        axes.set_xscale("log")
    if panel["level"]:
        axes.axhline(panel["level"], color="#c22740", linestyle="--", linewidth=0.9, label="tolerance")
    axes.set_title(panel["title"], loc="left")
    axes.set_ylabel(panel["label"])
    if not along_too:
        axes.margins(x=0)
    if len(panel["series"]) > 1 or panel["level"]:
        axes.legend(loc="best")


def main():
    numbers, picture, ending = sys.argv[1:]
    with open(numbers) as file:
        figure = json.load(file)
    panels = figure["panels"]
    fig, all_axes = plt.subplots(len(panels), 1, figsize=(6.4, 2.9 * len(panels) + 0.3), squeeze=False, sharex=len({p["along"] for p in panels}) == 1, layout="constrained")
    for k, (axes, panel) in enumerate(zip(all_axes[:, 0], panels)):
        draw(axes, panel)
        if k + 1 == len(panels) or panels[k + 1]["along"] != panel["along"]:
            axes.set_xlabel(panel["along"])
    if figure["title"]:
        fig.suptitle(figure["title"], fontsize=11)
    fig.savefig(picture, format=ending, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[ending])


main()
