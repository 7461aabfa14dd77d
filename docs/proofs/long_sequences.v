(* Texts longer than any that was trained on. *)
From Attention Require Import Basics.

Definition leads (g : R) : vector := fun j => match j with O => g | _ => 0 end.
Lemma leader n g : (1 <= n)%nat -> softmax n (leads g) 0%nat = 1 / (1 + (INR n - 1) * exp (- g)).
Proof. intro N. unfold softmax. rewrite (sum_others n 0) by lia. simpl leads at 1 2.
  replace (others n 0 (fun j => exp (leads g j))) with ((INR n - 1) * 1).
  - rewrite exp_Ropp. pose proof (exp_pos g). assert (INR 1 <= INR n) by (apply le_INR; lia). simpl in *.
    assert (0 <= (INR n - 1) * / exp g) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
    field. split; [lra|]. assert ((INR n - 1) * / exp g * exp g = INR n - 1) by (field; lra). nra.
  - rewrite <- (others_const n 0) by lia. apply sum_ext. intros j _. destruct j; simpl; [reflexivity|].
    symmetry. apply exp_0. Qed.
(* A key that leads n - 1 equal others by g; to keep its weight among n' keys it leads by g'. *)
Theorem dilution : forall (n n' : nat) (g g' : R), (1 < n)%nat -> (n < n')%nat ->
  softmax n (leads g) 0%nat = 1 / (1 + (INR n - 1) * exp (- g))
  /\ (softmax n' (leads g') 0%nat = softmax n (leads g) 0%nat <-> g' = g + ln ((INR n' - 1) / (INR n - 1))).
Proof. intros n n' g g' N N'. split; [apply leader; lia|]. rewrite !leader by lia.
  apply lt_INR in N. apply lt_INR in N'. simpl in N.
  assert (Q : 0 < (INR n' - 1) / (INR n - 1)) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_pos (- g)). pose proof (exp_pos (- g')).
  assert (0 < (INR n - 1) * exp (- g)) by nra. assert (0 < (INR n' - 1) * exp (- g')) by nra. split.
  - intro Eq. assert ((INR n' - 1) * exp (- g') = (INR n - 1) * exp (- g)) as Eq'.
    { unfold Rdiv in Eq. rewrite !Rmult_1_l in Eq. apply (f_equal Rinv) in Eq. rewrite !Rinv_inv in Eq. lra. }
    assert (exp (g' - g) = (INR n' - 1) / (INR n - 1)) as D.
    { unfold Rminus. rewrite exp_plus, (exp_Ropp g). rewrite !exp_Ropp in Eq'.
      pose proof (exp_pos g). pose proof (exp_pos g').
      apply (Rmult_eq_reg_r (/ exp g')); [|apply Rinv_neq_0_compat; lra].
      replace (exp g' * / exp g * / exp g') with (/ exp g) by (field; lra).
      apply (Rmult_eq_reg_l (INR n - 1)); [|lra]. rewrite <- Eq'. field. lra. }
    rewrite <- D, ln_exp. ring.
  - intros ->. f_equal. f_equal. rewrite Ropp_plus_distr, exp_plus, (exp_Ropp (ln _)), exp_ln by exact Q. field. lra. Qed.

(* ALiBi: key m lies m tokens back and gets the bias - slope * m; the keys w or more back together *)
Theorem alibi : forall (n w : nat) (slope c : R) (s : vector), 0 < slope -> (0 < n)%nat ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> s i - s j <= c) ->
  sum n (fun m => if Nat.leb w m then softmax n (fun m => s m - slope * INR m) m else 0) <= exp (c - slope * INR w).
Proof. intros n w slope c s _ N C. set (e := fun m => exp (s m - slope * INR m)).
  assert (P : 0 < sum n e) by (apply sum_pos; [exact N|intros; apply exp_pos]).
  rewrite (sum_ext n _ (fun m => (if Nat.leb w m then e m else 0) / sum n e)).
  2:{ intros m _. destruct (Nat.leb w m); [reflexivity|unfold Rdiv; ring]. }
  rewrite sum_div. apply (Rmult_le_reg_r (sum n e)); [exact P|].
  replace (sum n (fun m => if Nat.leb w m then e m else 0) / sum n e * sum n e)
    with (sum n (fun m => if Nat.leb w m then e m else 0)) by (field; lra).
  pose proof (exp_pos (c - slope * INR w)).
  destruct (Nat.le_gt_cases w n) as [W|W].
  - replace n with (w + (n - w))%nat at 1 by lia. rewrite sum_app, (sum_zero w), Rplus_0_l.
    2:{ intros m M. replace (Nat.leb w m) with false; [reflexivity|]. symmetry. apply Nat.leb_gt, M. }
    apply Rle_trans with (exp (c - slope * INR w) * sum (n - w) e).
    + rewrite <- sum_scal. apply sum_le. intros m M. replace (Nat.leb w (w + m)) with true by (symmetry; apply Nat.leb_le; lia).
      unfold e. rewrite <- exp_plus, plus_INR. specialize (C (w + m)%nat m ltac:(lia) ltac:(lia)).
      assert (s (w + m)%nat - slope * (INR w + INR m) <= c - slope * INR w + (s m - slope * INR m)) as L by lra.
      destruct (Rle_lt_or_eq_dec _ _ L) as [L'| ->]; [left; apply exp_increasing, L'|right; reflexivity].
    + apply Rmult_le_compat_l; [lra|]. replace n with (n - w + w)%nat at 2 by lia. rewrite sum_app.
      assert (0 <= sum w (fun i => e (n - w + i)%nat)) by (apply sum_nonneg; intros; left; apply exp_pos). lra.
  - rewrite sum_zero; [nra|]. intros m M. replace (Nat.leb w m) with false; [reflexivity|]. symmetry. apply Nat.leb_gt. lia. Qed.
