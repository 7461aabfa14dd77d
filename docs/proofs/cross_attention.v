(* Queries from one sequence, keys and values from another. *)
From Attention Require Import Basics masking.

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

(* A decoder block: heads of self-attention under a causal mask, heads of cross-attention without a
   mask over the nk rows of the source X; what follows each (residual connection, norm, network) acts
   on each row alone. *)
Record decoder_block := { SQ : nat -> matrix; SK : nat -> matrix; SV : nat -> matrix; joins : vector -> (nat -> vector) -> vector;
  CQ : nat -> matrix; CK : nat -> matrix; CV : nat -> matrix; finishes : vector -> (nat -> vector) -> vector }.
Definition run_block (n nk dm d : nat) (X : matrix) (b : decoder_block) (T : matrix) : matrix :=
  let z i := joins b (T i) (fun h => layer n dm d causal (SQ b h) (SK b h) (SV b h) T i) in
  fun i => finishes b (z i) (fun h => cross nk dm d (CQ b h) (CK b h) (CV b h) z X i).
Definition decoder (n nk dm d : nat) (bs : list decoder_block) (X T : matrix) : matrix :=
  fold_left (fun T b => run_block n nk dm d X b T) bs T.

(* The second part: for any number of blocks there are some that pass on every token of the source. *)
Theorem later_targets : forall (n nk dm d : nat), (0 < dm)%nat ->
  (forall (bs : list decoder_block) (X : matrix), is_causal (decoder n nk dm d bs X))
  /\ (forall m, exists bs, length bs = S m /\ forall (T : matrix) (i j : nat), (j < nk)%nat -> exists X X' : matrix,
        (forall l, l <> j -> X' l = X l) /\ decoder n nk dm d bs X' T i <> decoder n nk dm d bs X T i).
Proof. intros n nk dm d D. split.
  - intros bs X. unfold decoder. induction bs as [|b bs IH]; intros T U i H; simpl; [apply H; lia|].
    apply IH. intros j J. unfold run_block.
    assert (Z : joins b (T j) (fun h => layer n dm d causal (SQ b h) (SK b h) (SV b h) T j)
      = joins b (U j) (fun h => layer n dm d causal (SQ b h) (SK b h) (SV b h) U j)).
    { rewrite (H j J). f_equal. apply functional_extensionality. intro h.
      apply (proj1 (no_leak n dm d (SQ b h) (SK b h) (SV b h))). intros l L. apply H. lia. }
    rewrite Z. f_equal. apply functional_extensionality. intro h. unfold cross, attention. f_equal. f_equal.
    unfold scores, dot, product. rewrite Z. reflexivity.
  - intro m. set (one := fun a c : nat => if andb (Nat.eqb a 0) (Nat.eqb c 0) then 1 else 0).
    set (zero := fun _ _ : nat => 0).
    set (b := {| SQ := fun _ => zero; SK := fun _ => zero; SV := fun _ => zero; joins := fun t _ => t;
                 CQ := fun _ => zero; CK := fun _ => zero; CV := fun _ => one; finishes := fun _ o => o 0%nat |}).
    exists (repeat b (S m)). split; [apply repeat_length|]. intros T i j J.
    exists zero, (fun l => if Nat.eqb l j then fun _ => 1 else zero l). split.
    { intros l L. apply Nat.eqb_neq in L. rewrite L. reflexivity. }
    assert (V : forall X U, decoder n nk dm d (repeat b (S m)) X U i 0%nat = sum nk (fun l => X l 0%nat) / INR nk).
    { intros X. unfold decoder. assert (O : forall U, run_block n nk dm d X b U i 0%nat = sum nk (fun l => X l 0%nat) / INR nk).
      { intro U. unfold run_block, b, cross, attention, average. simpl.
        assert (0 < INR nk) by (apply lt_0_INR; lia). rewrite <- sum_div. apply sum_ext. intros l _. unfold softmax.
        assert (Sc : forall a c, scores d (product dm U zero) (product dm X zero) a c = 0).
        { intros a c. unfold scores, dot. rewrite sum_zero; [unfold Rdiv; ring|]. intros e _.
          unfold product at 1. rewrite sum_zero; [ring|]. intros; unfold zero; ring. }
        rewrite Sc. rewrite (sum_ext nk _ (fun _ => 1)) by (intros; rewrite Sc; apply exp_0). rewrite exp_0, sum_const.
        assert (product dm X one l 0%nat = X l 0%nat) as ->; [|field; lra].
        unfold product. rewrite (sum_ext dm _ (fun a => if Nat.eqb 0 a then X l 0%nat else 0)).
        - apply (sum_one dm 0 (fun _ => X l 0%nat) D).
        - intros a _. unfold one. destruct a; simpl; ring. }
      induction m as [|m IH]; intro U; [apply O|]. apply IH. }
    intro Q. apply (f_equal (fun f => f 0%nat)) in Q. rewrite !V in Q.
    assert (0 < INR nk) by (apply lt_0_INR; lia).
    rewrite (sum_zero nk (fun l => zero l 0%nat)) in Q by reflexivity.
    rewrite (sum_ext nk _ (fun l => if Nat.eqb j l then 1 else 0)) in Q.
    + rewrite (sum_one nk j (fun _ => 1) J) in Q. unfold Rdiv in Q. rewrite Rmult_0_l, Rmult_1_l in Q.
      apply (Rinv_neq_0_compat (INR nk)); lra.
    + intros l _. rewrite (Nat.eqb_sym j l). destruct (Nat.eqb l j); reflexivity. Qed.

(* Operations of a product of a by b and b by c numbers; h heads of dimension d / h *)
Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.
Definition of_keys (nk d : nat) : nat := (product_operations nk d d + product_operations nk d d)%nat.
Definition of_queries (nq nk d h dk : nat) : nat := (product_operations nq d d
  + h * (product_operations nq dk nk + product_operations nq nk dk) + product_operations nq d d)%nat.
Theorem cost : forall nq nk d h dk : nat, (h * dk = d)%nat ->
  let formula := (4 * (nq + nk) * (d * d) + 4 * nq * nk * d)%nat in
  (of_queries nq nk d h dk + of_keys nk d = formula
   /\ nq * of_queries 1 nk d h dk + of_keys nk d = formula
   /\ (0 < nq -> nq * (of_queries 1 nk d h dk + of_keys nk d) = formula + 4 * (nq - 1) * nk * (d * d)))%nat.
Proof. intros nq nk d h dk H formula. unfold formula, of_queries, of_keys, product_operations.
  assert (A : forall n, (h * (2 * n * dk * nk + 2 * n * nk * dk) = 4 * n * nk * d)%nat) by (intro; rewrite <- H; ring).
  rewrite !A. repeat split; [ring|ring|]. intro N. destruct nq as [|m]; [lia|]. replace (S m - 1)%nat with m by lia. ring. Qed.
