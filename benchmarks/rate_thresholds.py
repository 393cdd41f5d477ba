"""Calibrate the rate test anew and print src/buildeye/knowledge/tables/rate-thresholds.toml; about a minute.

python benchmarks/rate_thresholds.py > src/buildeye/knowledge/tables/rate-thresholds.toml
"""

from buildeye.deploy.judges.fisher import calibrate

ALPHAS = (0.05, 0.01)
TASKS = (20, 30, 50, 100)
BASELINES = (10, 15, 20, 30, 50, 75, 100, 150, 200)

HEAD = """\
# The constants of the truncated sequential Fisher test: fail when a p-value is at most c, at any of `tasks` looks. For
# each size of baseline, c is the largest p-value whose false-alarm probability is within alpha at every rate; `worst`
# is that probability at the worst rate. Made by benchmarks/rate_thresholds.py; deploy/judges/fisher.py says how."""


def main() -> None:
    """Print the table."""
    print(HEAD)
    for alpha in ALPHAS:
        for tasks in TASKS:
            found = [calibrate(alpha, n0, tasks) for n0 in BASELINES]
            print(f"\n[[threshold]]\nalpha = {alpha}\ntasks = {tasks}\nbaseline = {list(BASELINES)}")
            print(f"c = {[each.c for each in found]}\nworst = {[round(each.worst, 7) for each in found]}")


if __name__ == "__main__":
    main()
