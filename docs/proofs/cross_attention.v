(* Queries from one sequence, keys and values from another. *)
From Attention Require Import Basics.

Definition reordered (p : nat -> nat) (X : matrix) : matrix := fun i => X (p i).
(* The target T asks, the source X of nk tokens answers *)
Definition cross (nk dm d : nat) (WQ WK WV T X : matrix) : matrix :=
  attention nk d (product dm T WQ) (product dm X WK) (product dm X WV).
(* Source and then target: tokens 0 to nk - 1 are the source *)
Definition joined (nk : nat) (X T : matrix) : matrix := fun i => if Nat.ltb i nk then X i else T (i - nk)%nat.
Definition masked_self (n dm d : nat) (mask : nat -> nat -> bool) (WQ WK WV X : matrix) : matrix :=
  masked_attention n d mask (product dm X WQ) (product dm X WK) (product dm X WV).
(* The target's rows see every token of the source and none of the target *)
Definition sees_source (nk i j : nat) : bool := Nat.ltb j nk.

Theorem special : forall (nk nq dm d : nat) (WQ WK WV T X : matrix) (i c : nat), (i < nq)%nat ->
  cross nk dm d WQ WK WV X X = attention nk d (product dm X WQ) (product dm X WK) (product dm X WV)
  /\ cross nk dm d WQ WK WV T X i c = masked_self (nk + nq) dm d (sees_source nk) WQ WK WV (joined nk X T) (nk + i)%nat c.
Proof. intros nk nq dm d WQ WK WV T X i c I. split; [reflexivity|].
  unfold cross, masked_self, attention, masked_attention, average, masked_softmax, softmax, masked_exp, sees_source, scores.
  assert (B : forall j, (j < nk)%nat -> Nat.ltb j nk = true) by (intros; apply Nat.ltb_lt; assumption).
  assert (N : forall f, sum (nk + nq) (fun j => if Nat.ltb j nk then f j else 0) = sum nk f).
  { intro f. rewrite sum_app, (sum_zero nq).
    - rewrite Rplus_0_r. apply sum_ext. intros j J. rewrite (B j J). reflexivity.
    - intros j _. replace (Nat.ltb (nk + j) nk) with false; [reflexivity|]. symmetry. apply Nat.ltb_ge. lia. }
  assert (Xj : forall W j, (j < nk)%nat -> product dm (joined nk X T) W j = product dm X W j).
  { intros W j J. unfold product, joined. rewrite (B j J). reflexivity. }
  assert (Ti : forall W, product dm (joined nk X T) W (nk + i)%nat = product dm T W i).
  { intro W. unfold product, joined. replace (Nat.ltb (nk + i) nk) with false by (symmetry; apply Nat.ltb_ge; lia).
    replace (nk + i - nk)%nat with i by lia. reflexivity. }
  rewrite (N (fun j => exp _)), Ti.
  rewrite (sum_ext nk (fun j => exp (dot d (product dm T WQ i) (product dm (joined nk X T) WK j) / sqrt (INR d)))
    (fun j => exp (dot d (product dm T WQ i) (product dm X WK j) / sqrt (INR d)))) by (intros j J; rewrite (Xj WK j J); reflexivity).
  symmetry. etransitivity; [|rewrite <- (N (fun j => _ / _ * product dm X WV j c)); reflexivity].
  apply sum_ext. intros j _. destruct (Nat.ltb j nk) eqn:L; [|unfold Rdiv; ring].
  apply Nat.ltb_lt in L. rewrite (Xj WK j L), (Xj WV j L). reflexivity. Qed.

Theorem order : forall (nk dm d : nat) (WQ WK WV T X : matrix) (p p' pt : nat -> nat) (i c : nat),
  permutation nk p p' ->
  cross nk dm d WQ WK WV T (reordered p X) i c = cross nk dm d WQ WK WV T X i c
  /\ cross nk dm d WQ WK WV (reordered pt T) X i c = reordered pt (cross nk dm d WQ WK WV T X) i c.
Proof. intros nk dm d WQ WK WV T X p p' pt i c P. split; [|reflexivity].
  unfold cross, attention, average, softmax, scores.
  rewrite <- (sum_permuted nk p p' (fun j => exp (dot d (product dm T WQ i) (product dm X WK j) / sqrt (INR d))) P).
  rewrite <- (sum_permuted nk p p' (fun j => exp (dot d (product dm T WQ i) (product dm X WK j) / sqrt (INR d)) / _ * _) P).
  reflexivity. Qed.
