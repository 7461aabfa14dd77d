(* One layer of attention, step by step. *)
From Attention Require Import Basics.

Theorem positive : forall (n : nat) (s : vector) (i : nat), (i < n)%nat ->
  0 < softmax n s i
  /\ softmax 3 (fun j => match j with O => 2 | _ => 4 end) O = 1 / (1 + 2 * exp 2).
Proof. intros n s i I. split; [apply softmax_pos; lia|]. unfold softmax. simpl.
  replace 4 with (2 + 2) by ring. rewrite exp_plus. pose proof (exp_pos 2). field.
  repeat split; nra. Qed.

(* The outputs of the loop: scores, exponentials, their sum, weights, the average of the values *)
Definition step_by_step (n d dk : nat) (WQ WK WV X : matrix) : matrix := fun i c =>
  let q := fun a => sum d (fun b => X i b * WQ b a) in
  let k := fun j a => sum d (fun b => X j b * WK b a) in
  let v := fun j a => sum d (fun b => X j b * WV b a) in
  let e := fun j => exp (sum dk (fun a => q a * k j a)) in
  sum n (fun j => e j / sum n e * v j c).
Definition rows_softmax (n : nat) (S : matrix) : matrix := fun i => softmax n (S i).
Theorem whole : forall (n d dk : nat) (WQ WK WV X : matrix) (i c : nat), (i < n)%nat ->
  let Q := product d X WQ in let K := product d X WK in let V := product d X WV in
  step_by_step n d dk WQ WK WV X i c = product n (rows_softmax n (product dk Q (transposed K))) V i c.
Proof. reflexivity. Qed.

(* Changed weights: delta sums to 0; low and high bound the values' component *)
Theorem rounding : forall (n : nat) (a delta v : vector) (low high : R),
  sum n (fun j => a j + delta j) = sum n a ->
  (forall j, (j < n)%nat -> low <= v j <= high) ->
  Rabs (sum n (fun j => (a j + delta j) * v j) - sum n (fun j => a j * v j))
  <= 1 / 2 * sum n (fun j => Rabs (delta j)) * (high - low).
Proof. intros n a delta v low high S B. rewrite sum_plus in S.
  rewrite <- sum_minus, (sum_ext n _ (fun j => delta j * (v j - (low + high) / 2) + delta j * ((low + high) / 2)))
    by (intros; field).
  rewrite sum_plus, sum_scal_r. replace (sum n delta) with 0 by lra. rewrite Rmult_0_l, Rplus_0_r.
  apply Rle_trans with (1 := sum_abs _ _).
  replace (1 / 2 * sum n (fun j => Rabs (delta j)) * (high - low))
    with (sum n (fun j => Rabs (delta j)) * ((high - low) / 2)) by field.
  rewrite <- sum_scal_r. apply sum_le. intros j J. rewrite Rabs_mult.
  apply Rmult_le_compat_l; [apply Rabs_pos|]. destruct (B j J). apply Rabs_le. lra. Qed.
