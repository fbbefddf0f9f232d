"""Pages that need no training: environments, settings, pools and theorems."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from procurl.envs.registry import make_host_env, make_pool
from procurl.experiments.analysis.figures.curriculum import draw_pools
from procurl.experiments.analysis.labels import MISSING
from procurl.experiments.analysis.tables import Table, as_csv, as_markdown
from procurl.experiments.analysis.trends import distance, features_of
from procurl.experiments.paper.published import (
    ENVIRONMENTS,
    SettingKey,
    published_settings,
)
from procurl.experiments.paper.run_pages import Page, RecordsBySweep
from procurl.experiments.presets import paper_strategy
from procurl.experiments.theory.theory_figures import P_STARS, draw_improvement
from procurl.internals.files import write_text
from procurl.internals.settings import flat_settings
from procurl.ppo.learning.settings import paper_settings
from procurl.theory.learners import AbstractLearner, Learner, ReinforceLearner

# As the paper prints them: reward, context, state, action, pool size.
PRINTED_SIZES: Mapping[str, tuple[str, str, str, str, int]] = {
    "pointmass-s": ("binary", "ℝ³", "ℝ⁴", "ℝ²", 100),
    "pointmass-d": ("non-binary", "ℝ³", "ℝ⁴", "ℝ²", 100),
    "basickarel": ("binary", "24000", "{0,1}⁸⁸", "6", 24_000),
    "ballcatching": ("non-binary", "ℝ³", "ℝ²¹", "ℝ⁵", 100),
    "antgoal": ("non-binary", "ℝ²", "ℝ²⁹", "ℝ⁸", 50),
}
DRAWN = ("pointmass-s", "basickarel", "ballcatching", "antgoal")
REINFORCE: Mapping[str, Learner] = {"η = 0.5": ReinforceLearner(eta=0.5)}
ABSTRACT: Mapping[str, Learner] = {
    "α = 1, β = 0": AbstractLearner(alpha=1.0, beta=0.0),
    "α = 1, β = 0.3": AbstractLearner(alpha=1.0, beta=0.3),
}


def environments_page(_: RecordsBySweep, out: Path) -> Page:
    """Sizes of the environments, ours beside the paper's, with a picture of a task."""
    lines = []
    for name, (reward, context, state, action, size) in PRINTED_SIZES.items():
        env = make_host_env(name)
        ours = [
            f"{len(env.context_names)} numbers",
            f"{len(env.observation_low)} numbers",
            f"{env.n_actions}" if env.action_low is None else f"{len(env.action_low)} numbers",
            str(len(make_pool(name))),
        ]
        paired = zip((context, state, action, str(size)), ours, strict=True)
        lines.append((name, reward, *(cell for pair in paired for cell in pair)))
    head = ["environment", "reward"]
    for what in ("context", "state", "action", "pool"):
        head += [f"{what}, paper", "observation, ours" if what == "state" else f"{what}, ours"]
    table = Table(tuple(head), tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    notes = (
        "Our observations include the context if the agent sees it: 4 + 3 numbers in PointMass, "
        "29 + 2 in AntGoal. A Karel task is encoded as seven numbers."
    )
    return Page("\n\n".join([as_markdown(table), notes, _draw_environments(out)]))


def _draw_environments(out: Path) -> str:
    """Write a picture of a typical task of each environment and return its Markdown."""
    from procurl.envs.rendering.contact_sheet import contact_sheet, write_png

    pictures, missing = {}, []
    for name in DRAWN:
        env, pool = make_host_env(name), make_pool(name)
        features = features_of(pool)
        middle = features.values.mean(axis=0)
        task = int(distance(features.values, middle, features).argmin())
        try:
            pictures[name] = env.draw([env.initial(env.context_of(pool[task])[None])])
        except ImportError as error:
            missing.append(f"{name} is not drawn: {error}.")
    write_png(contact_sheet(list(pictures.values()), list(pictures)), out / "environments.png")
    return "\n\n".join(["![A typical task of each](environments.png)", *missing])


def ppo_settings_page(_: RecordsBySweep, out: Path) -> Page:
    """PPO's settings in every environment, ours checked against the paper's."""
    ours = {env: flat_settings(paper_settings(env)) for env in ENVIRONMENTS}
    names = [key.setting for key in published_settings() if key.owner == "ppo"]
    rows = [("ppo", name) for name in dict.fromkeys(names)]
    return _settings_page(out, rows, lambda env, _, name: ours[env][name])


def strategy_settings_page(_: RecordsBySweep, out: Path) -> Page:
    """The strategies' settings in every environment, ours checked against the paper's."""
    keys = [(key.owner, key.setting) for key in published_settings() if key.owner != "ppo"]

    def ours(env: str, owner: str, name: str) -> Any:
        value = flat_settings(paper_strategy(env, owner))[name]
        if name == "refresh_every" and value is None:  # every update
            return paper_settings(env).n_steps
        return "pool" if name in ("v_min", "v_max") and value is None else value

    return _settings_page(out, list(dict.fromkeys(keys)), ours)


def contexts_page(_: RecordsBySweep, out: Path) -> Page:
    """Contexts of PointMass's uniform and harder pools."""
    pools = {
        "uniform pool": make_pool("pointmass-s"),
        "harder pool": make_pool("pointmass-s", "hard"),
    }
    draw_pools(pools, out / "pools")
    caption = "Contexts of the two pools, sampled as the paper describes"
    return Page(f"![{caption}](pools.png)\n\n*{caption}.*\n")


def theorem_page(_: RecordsBySweep, out: Path, learners: Mapping[str, Learner]) -> Page:
    """The expected improvement of one episode: closed form and sum over all outcomes."""
    lines, worst = [], 0.0
    for name, learner in learners.items():
        for p_star in P_STARS:
            p = np.linspace(0.01, 0.99, 99) * p_star
            theorem = learner.closed_form(p, p_star)
            summed = learner.expected_improvement(
                learner.knowledge(p, p_star), np.full(len(p), p_star)
            )
            apart = float(np.abs(theorem - summed).max())
            worst = max(worst, apart)
            best = int(theorem.argmax())
            lines.append(
                (name, f"{p_star:g}", f"{p[best]:.3g}", f"{theorem[best]:.4f}", f"{apart:.1e}")
            )
    head = ("learner", "p*", "best p", "C there", "theorem − sum over outcomes, at most")
    table = Table(head, tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    draw_improvement(out / "improvement", learners)
    verdict = f"Closed form and enumeration differ by at most {worst:.1e}."
    picture = "![Expected improvement against the probability of success](improvement.png)\n"
    return Page("\n".join([as_markdown(table), f"{verdict}\n", picture]), verdict)


def _settings_page(out: Path, rows: list[tuple[str, str]], ours: Any) -> Page:
    """A page with a table of settings that shows both values if they differ."""
    listed = published_settings()
    lines, same, differing = [], 0, []
    for owner, name in rows:
        cells = []
        for env in ENVIRONMENTS:
            paper = listed.get(SettingKey(env, owner, name))
            if paper is None:
                cells.append(MISSING)
                continue
            mine = ours(env, owner, name)
            if _equal(mine, paper):
                same += 1
                cells.append(paper or "none")
            else:
                differing.append(f"{owner} {name} in {env}")
                cells.append(f"{_text(mine)}, paper {paper}")
        lines.append((owner, name, *cells))
    table = Table(("", "setting", *ENVIRONMENTS), tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    verdict = f"{same} of {same + len(differing)} settings match the paper's"
    verdict += f"; different: {', '.join(differing)}." if differing else "."
    return Page("\n".join([as_markdown(table), f"{verdict}\n"]), verdict)


def _equal(mine: Any, paper: str) -> bool:
    if isinstance(mine, str | tuple):
        return _text(mine) == paper
    try:
        return bool(np.isclose(float(mine), float(paper), rtol=1e-9, atol=0.0))
    except (TypeError, ValueError):
        return False


def _text(mine: Any) -> str:
    return " ".join(map(str, mine)) if isinstance(mine, tuple) else str(mine)
