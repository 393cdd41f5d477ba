"""Learn weights of words: lessons as JSON on standard input, the table on standard output, how good it is on the other.

Runs in the peers' environment, which has scikit-learn.
"""

import json
import sys
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer  # type: ignore[import-not-found]  # of the peers' environment
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found]  # of the peers' environment
from sklearn.model_selection import GroupKFold  # type: ignore[import-not-found]  # of the peers' environment

folds = int(sys.argv[1])
strength, least = json.loads(sys.argv[2])
lessons = json.load(sys.stdin)
vectors = DictVectorizer()
X = vectors.fit_transform([x[0] for x in lessons])
truth = {"cause": np.array([x[1] for x in lessons]), "category": np.array([x[2] for x in lessons])}
rules = np.array([x[3] for x in lessons])
weights = np.array([x[4] for x in lessons])
whole_logs = weights == weights.max()


def fitted(kind: str, rows: Any) -> Any:
    """A model of one kind, fitted on some lessons."""
    model = LogisticRegression(C=strength[kind], max_iter=1000)
    return model.fit(X[rows], truth[kind][rows], sample_weight=weights[rows])


def tell_how_good() -> None:
    """Print how often the cause was right on logs of rules that were left out, by what was stated."""
    stated: list[tuple[float, bool]] = []
    for train, test in GroupKFold(folds).split(X, truth["cause"], rules):
        test = test[whole_logs[test]]
        model = fitted("cause", train)
        for row, probabilities in zip(test, model.predict_proba(X[test]), strict=True):
            best = probabilities.argmax()
            stated.append((float(probabilities[best]), model.classes_[best] == truth["cause"][row]))
    right = sum(ok for _, ok in stated) / len(stated)
    print(f"cause right on {len(stated)} logs of rules left out: {right:.3f}", file=sys.stderr)
    for low in (0.0, 0.5, 0.6, 0.7, 0.8, 0.9):
        part = [ok for p, ok in stated if low <= p < low + (0.5 if low == 0 else 0.1) or (low == 0.9 and p >= 1)]
        if part:
            print(f"  stated from {low:.1f}: {len(part):4} logs, right {sum(part) / len(part):.2f}", file=sys.stderr)


def table(kind: str) -> dict[str, Any]:
    """The model of one kind as plain numbers: names, a bias each, and by feature the weights that count."""
    model = fitted(kind, np.arange(len(lessons)))
    words: dict[str, dict[str, float]] = {}
    for column, name in enumerate(vectors.feature_names_):
        kept = {str(i): round(float(w), 2) for i, w in enumerate(model.coef_[:, column]) if abs(w) >= least[kind]}
        if kept:
            words[name] = kept
    return {"names": list(model.classes_), "bias": [round(float(b), 3) for b in model.intercept_], "words": words}


tell_how_good()
homes = {category: cause for _, cause, category, _, _ in lessons}
print(json.dumps({"cause": table("cause"), "category": table("category"), "home": homes}))
