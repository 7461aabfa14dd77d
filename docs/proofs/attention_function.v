(* The function for arrays with any leading axes, and dropout on its weights. *)
From Attention Require Import Basics.

(* Key j is kept (1) or dropped (0), each outcome brings a choice for all; what is kept is divided by
   the probability 1 - p of being kept. *)
Definition dropped (p : R) (r : nat -> vector) (a : vector) (w : nat) : vector := fun j => r w j / (1 - p) * a j.
Theorem dropout : forall (P : space) (n : nat) (p : R) (r : nat -> vector) (a : vector) (V : matrix) (c : nat),
  0 <= p < 1 ->
  (forall j, (j < n)%nat -> E P (fun w => r w j) = 1 - p) ->
  (forall j, (j < n)%nat -> E P (fun w => dropped p r a w j) = a j)
  /\ E P (fun w => average n (dropped p r a w) V c) = average n a V c.
Proof. intros P n p r a V c B H.
  assert (W : forall j, (j < n)%nat -> E P (fun w => dropped p r a w j) = a j).
  { intros j J. unfold dropped. rewrite (E_ext P _ (fun w => a j / (1 - p) * r w j)) by (intro; unfold Rdiv; ring).
    rewrite E_scal, H by exact J. field. lra. }
  split; [exact W|]. unfold average. rewrite E_sum. apply sum_ext. intros j J.
  rewrite (E_ext P _ (fun w => V j c * dropped p r a w j)) by (intro; ring).
  rewrite E_scal, W by exact J. ring. Qed.
