(* Other ways to compare a query with a key. *)
From Attention Require Import Basics.

Theorem no_tanh : forall (n : nat) (f g : vector) (i j : nat), (0 < n)%nat ->
  softmax n (fun j => f i + g j) j = exp (g j) / sum n (fun m => exp (g m)).
Proof. intros n f g i j N. fold (softmax n g j). rewrite <- (softmax_shift n g (f i) j N).
  f_equal. apply functional_extensionality. intro. ring. Qed.

(* A cosine lies between -1 and 1; the best case has 1 for key j and -1 for all others. *)
Theorem bound : forall (n j : nat) (beta : R) (cosines : vector), 0 < beta -> (j < n)%nat ->
  (forall m, (m < n)%nat -> -1 <= cosines m <= 1) ->
  softmax n (fun m => beta * cosines m) j <= 1 / (1 + (INR n - 1) * exp (- 2 * beta))
  /\ (cosines j = 1 -> (forall m, (m < n)%nat -> m <> j -> cosines m = -1) ->
      softmax n (fun m => beta * cosines m) j = 1 / (1 + (INR n - 1) * exp (- 2 * beta))).
Proof. intros n j beta cs B J H.
  assert (W : softmax n (fun m => beta * cs m) j = 1 / (1 + others n j (fun m => exp (beta * cs m - beta * cs j)))).
  { unfold softmax. rewrite (sum_others n j _ J).
    assert (others n j (fun m => exp (beta * cs m - beta * cs j)) = others n j (fun m => exp (beta * cs m)) / exp (beta * cs j)) as ->.
    { unfold others. rewrite <- sum_div. apply sum_ext. intros m _. pose proof (exp_pos (beta * cs j)).
      destruct (Nat.eqb j m); [field; lra|]. unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. }
    assert (0 <= others n j (fun m => exp (beta * cs m))).
    { apply sum_nonneg. intros m _. destruct (Nat.eqb j m); [lra|left; apply exp_pos]. }
    pose proof (exp_pos (beta * cs j)). field. lra. }
  assert (I : 0 <= INR n - 1) by (assert (INR 1 <= INR n) by (apply le_INR; lia); simpl in *; lra).
  pose proof (exp_pos (- 2 * beta)). assert (0 <= (INR n - 1) * exp (- 2 * beta)) by nra.
  rewrite W. split.
  - unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; [lra|]. apply Rplus_le_compat_l.
    rewrite <- (others_const n j _ J). apply sum_le. intros m M. destruct (Nat.eqb j m); [lra|].
    destruct (H m M), (H j J). assert (- 2 * beta <= beta * cs m - beta * cs j) as L by nra.
    destruct (Rle_lt_or_eq_dec _ _ L) as [L'|<-]; [left; apply exp_increasing, L'|right; reflexivity].
  - intros C1 C2. rewrite <- (others_const n j _ J). f_equal. f_equal. apply sum_ext. intros m M.
    destruct (Nat.eqb j m) eqn:Q; [reflexivity|]. apply Nat.eqb_neq in Q.
    rewrite C1, (C2 m M) by (intro; subst; apply Q; reflexivity). f_equal. ring. Qed.
