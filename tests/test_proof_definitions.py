"""The definitions in the proofs are the functions of the package: both get the same numbers.

Coq reads each definition letter by letter as it stands in `docs/proofs`, but under a header in
which R is the type of fractions, with their operations. There is no exponential of fractions, so
`exp` is 2 to the power of a whole number here, and the package gets ln 2 times the exponent. `sqrt`
is asked for squares alone, `sin` and `cos` for multiples of the angle of the triangle 3, 4, 5.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from math import atan2, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from attention_docs import (
    attention_function,
    batches,
    cross_attention,
    generation,
    in_context,
    in_pieces,
    learning,
    maps,
    masking,
    memory,
    multi_head,
    positions,
    scaling,
    softmax,
    tokens,
    transformer_block,
)
from attention_docs.site import proofs
from tests.conftest import ROOT
from tests.test_proofs import needs_coq

HEADER = """From Coq Require Import QArith Qabs Qminmax List ZArith Arith.
Import ListNotations.
Open Scope Q_scope.
Definition R := Q.
Definition INR (n : nat) : R := inject_Z (Z.of_nat n).
Definition exp (x : R) : R := Qpower 2 (Qnum (Qred x)).
Definition sqrt (x : R) : R := inject_Z (Z.sqrt (Qnum (Qred x))).
Definition Rmax := Qmax. Definition Rmin := Qmin. Definition Rabs := Qabs.
Fixpoint turn (n : nat) : R * R := match n with
  | O => (1, 0)
  | S n => let (c, s) := turn n in (c * (3 # 5) - s * (4 # 5), s * (3 # 5) + c * (4 # 5)) end.
Definition cos (x : R) : R := fst (turn (Z.to_nat (Qnum (Qred x)))).
Definition sin (x : R) : R := snd (turn (Z.to_nat (Qnum (Qred x)))).
Axiom trusted : forall P : Prop, P.
Definition entries (n m : nat) (A : nat -> nat -> R) : list R :=
  flat_map (fun i => map (fun j => Qred (A i j)) (seq 0 m)) (seq 0 n).
Definition listed (n : nat) (a : nat -> R) : list R := map (fun j => Qred (a j)) (seq 0 n).
Definition given (l : list (list R)) (i j : nat) : R := nth j (nth i l []) 0.
Definition coins (first w i : nat) : R := if Nat.testbit w (first + i) then 1 else -(1).
"""
LN2 = log(2)
ANGLE = atan2(4, 3)
FRACTION = re.compile(r"\(\s*\(?(-?\d+)\)?(?:%Z)?,\s+(\d+)(?:%Z)?\)")

rng = np.random.default_rng(26)


def whole(*shape: int, factor: int = 1) -> np.ndarray:
    return factor * rng.integers(-2, 3, shape).astype(float)


Q, K, V = whole(3, 4, factor=2), whole(3, 4), whole(3, 2)  # scores are whole numbers
WQ, WK, WV, WO = whole(3, 8, factor=2), whole(3, 8), whole(3, 6), whole(6, 3)
X = whole(2, 3)
SCORES, VALUES = np.array([[3.0, -1, 2, 0]]), whole(4, 2)
WEIGHTS, SLOPES = np.array([[0.125, 0.25, 0.625]]), np.array([[3.0, -2, 5]])
LOWER = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
UPPER = np.array([[0.125, 0.875, 0], [0, 0.25, 0.75], [0.5, 0.5, 0]])
SPREAD = np.array([[1.0, 3, 1, 3]])
TARGET, DRAFT = [Fraction(n, 12) for n in (5, 1, 4, 2)], [Fraction(n, 12) for n in (2, 6, 1, 3)]
PHI_Q, PHI_K = abs(Q) + 1, abs(K) + 1
SEGMENTS = np.array([1, 1, 1, 2, 3, 3, 0])
DATA = {  # as the terms below call them
    **{"q": Q, "k": K, "v": V, "wq": WQ, "wk": WK, "wv": WV, "wo": WO, "x": X},
    **{"scored": SCORES, "values": VALUES, "weights": WEIGHTS, "slopes": SLOPES, "spread": SPREAD},
    **{"lower": LOWER, "upper": UPPER},
    **{"target": [TARGET], "draft": [DRAFT], "phi_q": PHI_Q, "phi_k": PHI_K},
}


def write(rows: Any) -> str:
    """A matrix of fractions for Coq."""
    pairs = [[Fraction(one).as_integer_ratio() for one in row] for row in rows]
    texts = ["; ".join(f"({top} # {bottom})" for top, bottom in row) for row in pairs]
    return f"given [{'; '.join(f'[{row}]' for row in texts)}]"


def evaluate(chapter: str, term: str, place: Path) -> list[Fraction]:
    """What Coq computes for a list of fractions, with the definitions of a chapter."""
    names = dict.fromkeys(("Basics", chapter))
    texts = [(ROOT / proofs.FOLDER / f"{name}.v").read_text("utf-8") for name in names]
    defined = {name: one for text in texts for name, one in proofs.read_definitions(text).items()}
    needed = proofs.find_used(term, defined)
    assert needed, term
    data = [f"Definition {name} := {write(array)}." for name, array in DATA.items()]
    asked = f"Eval vm_compute in map (fun x : R => (Qnum x, Zpos (Qden x))) ({term})."
    lines = [HEADER, *data, *needed.values(), asked]
    (place / "definitions.v").write_text("\n".join(lines), "utf-8")
    command = ["coqc", "-q", "definitions.v"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return [Fraction(int(a), int(b)) for a, b in FRACTION.findall(done.stdout)]


def run_heads() -> np.ndarray:
    parameters = multi_head.Parameters(WQ * LN2, WK, WV, WO)
    return multi_head.multi_head_attention(X, X, X, parameters, num_heads=2)[0]


def run_groups() -> np.ndarray:
    """Two query heads that share one head of keys and values."""
    query = multi_head.split_heads(X @ WQ * LN2, 2)
    key, value = (X @ W for W in (WK[:, :4], WV[:, :3]))
    return (
        multi_head.join_heads(generation.grouped_attention(query, key[None], value[None])[0]) @ WO
    )


def read_segments() -> np.ndarray:
    """Of three packed texts: which keys each token sees, positions, and rows of the loss."""
    seen = batches.segment_mask(SEGMENTS) & masking.causal_mask(len(SEGMENTS))
    rows = batches.loss_rows(SEGMENTS).sum()
    return np.concatenate([np.ravel(seen), batches.segment_positions(SEGMENTS)[:6], [rows]])


def merge_pieces() -> list[float]:
    """Three keys, then the fourth; the largest score is in units of ln 2."""
    query = np.array([[LN2]])
    parts = [slice(3), slice(3, 4)]
    pieces = [in_pieces.piece(query, SCORES.T[part], VALUES[part]) for part in parts]
    top, total, mean = (np.ravel(part) for part in in_pieces.merge(*pieces))
    return [top[0] / LN2, total[0], *mean]


def propagate_score_gradients() -> np.ndarray:
    """The gradients of scores, which those of a query show if the keys are unit vectors."""
    zero, unit = np.zeros((1, 3)), np.eye(3)
    return learning.attention_backward(zero, unit, V, WEIGHTS, V[2:])[0] * np.sqrt(3)


def toss_coins() -> list[Fraction]:
    pair = scaling.vectors(scaling.equally_likely(-1, 1), 2)
    return list(scaling.mean_and_variance(scaling.dot_distribution(pair, pair)))


def cut_words() -> list[int]:
    ranks = {("1", "2"): 0, ("3", "12"): 1}
    return [int(one) for word in ("1212312", "3123") for one in tokens.merge_pairs(word, ranks)]


class Case(NamedTuple):
    """Fractions in Coq, the file of their definitions, and the same from the package."""

    chapter: str
    term: str
    package: Callable[[], Any]


CASES = {
    "attention": Case(
        "Basics",
        "entries 3 2 (attention 3 4 q k v)",
        lambda: attention_function.attention(Q * LN2, K, V)[0],
    ),
    "masked": Case(
        "Basics",
        "entries 3 2 (masked_attention 3 4 causal q k v)",
        lambda: attention_function.attention(Q * LN2, K, V, masking.causal_mask(3))[0],
    ),
    "heads": Case(
        "multi_head",
        """let head A d r := fun i b => product 3 x A i (r * d + b)%nat in
           entries 2 3 (product 6 (joined 3 (fun r =>
             attention 2 4 (head wq 4%nat r) (head wk 4%nat r) (head wv 3%nat r))) wo)""",
        run_heads,
    ),
    "pieces": Case(
        "in_pieces",
        """let key j := (scored 0%nat j, values j) in
           let one := merge (attend (key 0%nat) [key 1%nat; key 2%nat]) (attend (key 3%nat) []) in
           map Qred [top one; mass one; mean one 0%nat; mean one 1%nat]""",
        merge_pieces,
    ),
    "linear": Case(
        "memory",
        """entries 3 2 (fun i c =>
           sum 4 (fun r => phi_q i r * state i phi_k v r c) / dot 4 (phi_q i) (divisor i phi_k))""",
        lambda: memory.linear_attention(PHI_Q, PHI_K, V, masking.causal_mask(3)),
    ),
    "delta": Case(
        "memory",
        """let step j M := write 4 (1 # 2) (k j) (v j) M in
           entries 4 2 (step 1%nat (step 0%nat (fun _ _ => 0)))""",
        lambda: memory.update_by_delta_rule(K[:2], V[:2], rate=0.5),
    ),
    "speculative": Case(
        "generation",
        """let p := target 0%nat in let r := draft 0%nat in
           listed 4 (fun y => kept p r y / r y) ++ listed 4 (redrawn 4 p r)""",
        lambda: [*generation.acceptance(TARGET, DRAFT), *generation.residual(TARGET, DRAFT)],
    ),
    "rollout": Case(
        "maps",
        "entries 3 3 (rollout 3 (fun l => match l with O => lower | _ => upper end) 2)",
        lambda: maps.attention_rollout(np.stack([LOWER, UPPER]))[-1],
    ),
    "rotation": Case(
        "positions",
        "entries 3 2 (fun t => turned (fun _ => 1) (INR t) (v t))",
        lambda: positions.rope(V, ANGLE * np.arange(3)),
    ),
    "jacobian": Case(
        "softmax",
        "entries 3 3 (jacobian (weights 0%nat))",
        lambda: softmax.softmax_jacobian(WEIGHTS[0]),
    ),
    "score gradient": Case(
        "learning",
        "listed 3 (score_gradient 3 (weights 0%nat) (slopes 0%nat))",
        lambda: softmax.softmax_gradient(WEIGHTS[0], SLOPES[0]),
    ),
    "backward": Case(
        "learning",
        "listed 3 (score_gradient 3 (weights 0%nat) (fun j => dot 2 (v 2%nat) (v j)))",
        propagate_score_gradients,
    ),
    "layer norm": Case(
        "transformer_block",
        "listed 4 (layer_norm 4 (spread 0%nat))",
        lambda: transformer_block.layer_norm(SPREAD, eps=0.0),
    ),
    "coins": Case(
        "Basics",
        """let P := {| outcomes := 16; chance := fun _ => 1 # 16;
                       chance_nonneg := trusted _; total := trusted _ |} in
           let score w := dot 2 (coins 0 w) (coins 2 w) in map Qred [E P score; Var P score]""",
        toss_coins,
    ),
    "merges": Case(
        "tokens",
        """map (fun t => Z.of_nat (fold_left (fun n c => 10 * n + c)%nat t 0%nat) # 1)
           (cut_text [([1], [2]); ([3], [1; 2])]%nat [[1; 2; 1; 2; 3; 1; 2]; [3; 1; 2; 3]]%nat)""",
        cut_words,
    ),
    "groups": Case(
        "generation",
        "entries 2 3 (multi_head 2 2 3 4 3 (fun _ _ => true) (fun r => r / 2)%nat wq wk wv wo x)",
        run_groups,
    ),
    "packed": Case(
        "batches",
        """let s l := nth l (segments_of 1 [3; 1; 2] 1)%nat 0%nat in
           entries 7 7 (fun i j => if block_mask s i j then 1 else 0) ++ listed 6 (restarted s)
           ++ [Z.of_nat (loss_rows (segments_of 1 [3; 1; 2] 1)%nat) # 1]""",
        read_segments,
    ),
    "padded": Case(
        "batches",
        "map Qred (map (fun j => counted (fun l => Nat.leb 2 l) (2 + j)%nat) (seq 0 4))",
        lambda: batches.segment_positions(np.array([0, 0, 1, 1, 1, 1]))[2:],
    ),
    "layer in context": Case(
        "in_context",
        """let x := keeps_input 3 in
           [Qred (linear_layer 3 3 x x (keeps_answer 3 (1 # 4)) k (q 0%nat))]""",
        lambda: in_context.in_context_layer(
            Q[:1], K, np.eye(4)[:, :3], np.eye(4)[:, :3], np.eye(4)[:, 3:] / 4
        ),
    ),
    "descent": Case(
        "in_context",
        "listed 4 (descent 3 4 (1 # 4) k (fun j => v j 0%nat) 1)",
        lambda: in_context.gradient_step(K, V[:, 0], 0.25),
    ),
    "error in context": Case(
        "in_context",
        "[Qred (step_error 3 (1 # 4) (1 # 8) 5) / 3]",
        lambda: [in_context.step_error(5, 3, 1 / 8, 1 / 4)],
    ),
    "traffic": Case(
        "in_pieces",
        """map (fun m => Z.of_nat (parameters m) # 1)
             [plain_moves 10 3; tiled_moves 10 3 4 3; tiled_moves 8 2 4 5]""",
        lambda: [
            in_pieces.plain_traffic(10, 3),
            in_pieces.tiled_traffic(10, 3, 4),
            in_pieces.tiled_traffic(8, 2, 4),
        ],
    ),
    "work": Case(
        "generation",
        """let shapes := [(6, 6); (6, 6); (6, 6); (6, 6); (6, 10); (10, 6)]%nat in
           map (fun f => Z.of_nat (over_tokens 5 f) # 1)
             [fun t => of_rows 1 t shapes 2 3; fun t => of_rows t t shapes 2 3]""",
        lambda: [generation.decode_flops(5, 6, 10, cached=cached) for cached in (True, False)],
    ),
    "cross-attention": Case(
        "cross_attention",
        """map (fun n => Z.of_nat n # 1)
             [of_queries 5 7 6 2 3 + of_keys 7 6; 5 * (of_queries 1 7 6 2 3 + of_keys 7 6)]%nat""",
        lambda: [cross_attention.cross_attention_flops(5, 7, 6, steps) for steps in (1, 5)],
    ),
    "parameters": Case(
        "Basics",
        "[Z.of_nat (parameters [(12, 12); (12, 4); (12, 4); (12, 12)]%nat) # 1]",
        lambda: [multi_head.parameter_count(12, 3, bias=False, kv_heads=1)],
    ),
}


@needs_coq
@pytest.mark.parametrize("name", CASES)
def test_definitions_of_the_proofs_are_those_of_the_package(name, tmp_path):
    chapter, term, package = CASES[name]
    ours = np.ravel(np.asarray(package(), dtype=float))
    theirs = [float(one) for one in evaluate(chapter, term, tmp_path)]
    assert len(theirs) == len(ours)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
