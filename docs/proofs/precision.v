(* Errors of scores, and what they do to weights. *)
From Attention Require Import Basics.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [L| ->]; [left; apply exp_increasing, L|right; reflexivity]. Qed.

Lemma sharp delta : 0 <= delta -> forall F, F < exp (2 * delta) -> exists s t : vector,
  (forall m, (m < 2)%nat -> Rabs (t m - s m) <= delta) /\ F < softmax 2 t O / softmax 2 s O.
Proof. intros D F H. set (G := exp (2 * delta)) in *. assert (PG : 0 < G) by apply exp_pos.
  set (y := (G - F) / (G * G + 1)). assert (Py : 0 < y) by (apply Rdiv_lt_0_compat; nra).
  exists (fun m => match m with O => ln y | _ => 0 end), (fun m => match m with O => ln y + delta | _ => - delta end). split.
  - intros [|m] _; apply Rabs_le; lra.
  - unfold softmax. simpl. rewrite exp_plus, exp_ln, exp_0 by exact Py.
    pose proof (exp_pos delta) as Pe. pose proof (exp_pos (- delta)) as Pf.
    assert (I : exp delta * exp (- delta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (Gd : G = exp delta * exp delta) by (unfold G; rewrite <- exp_plus; f_equal; ring).
    assert (Ef : exp (- delta) = / exp delta) by apply exp_Ropp.
    replace (y * exp delta / (0 + y * exp delta + exp (- delta)) / (y / (0 + y + 1))) with ((y + 1) * G / (y * G + 1)).
    2:{ rewrite Gd, Ef. field. repeat split; nra. }
    assert (y * (G * G + 1) = G - F) by (unfold y; field; nra).
    assert (0 < y * G + 1) by nra. apply (Rmult_lt_reg_r (y * G + 1)); [lra|].
    replace ((y + 1) * G / (y * G + 1) * (y * G + 1)) with ((y + 1) * G) by (field; lra).
    assert (y * G * F < y * G * G) by (apply Rmult_lt_compat_l; nra). nra. Qed.

(* The second part: no smaller factor will do for all scores. *)
Theorem factors : forall (n : nat) (delta : R) (s t : vector) (j : nat), (j < n)%nat -> 0 <= delta ->
  (forall m, (m < n)%nat -> Rabs (t m - s m) <= delta) ->
  exp (- 2 * delta) <= softmax n t j / softmax n s j <= exp (2 * delta)
  /\ (forall F, F < exp (2 * delta) -> exists s' t' : vector,
        (forall m, (m < 2)%nat -> Rabs (t' m - s' m) <= delta) /\ F < softmax 2 t' O / softmax 2 s' O).
Proof. intros n delta s t j J D H. split; [|apply sharp, D]. assert (N : (0 < n)%nat) by lia.
  pose proof (exp_sum_pos n s N) as Ps. pose proof (exp_sum_pos n t N) as Pt. cbv beta in *.
  assert (A : forall m, (m < n)%nat -> s m - delta <= t m <= s m + delta).
  { intros m M. specialize (H m M). pose proof (Rle_abs (t m - s m)). pose proof (Rle_abs (- (t m - s m))) as H2. rewrite Rabs_Ropp in H2. lra. }
  assert (U : sum n (fun m => exp (t m)) <= exp delta * sum n (fun m => exp (s m))).
  { rewrite <- sum_scal. apply sum_le. intros m M. rewrite <- exp_plus. apply exp_le. destruct (A m M). lra. }
  assert (L : exp (- delta) * sum n (fun m => exp (s m)) <= sum n (fun m => exp (t m))).
  { rewrite <- sum_scal. apply sum_le. intros m M. rewrite <- exp_plus. apply exp_le. destruct (A m M). lra. }
  assert (Uj : exp (t j) <= exp delta * exp (s j)) by (rewrite <- exp_plus; apply exp_le; destruct (A j J); lra).
  assert (Lj : exp (- delta) * exp (s j) <= exp (t j)) by (rewrite <- exp_plus; apply exp_le; destruct (A j J); lra).
  pose proof (exp_pos (s j)). pose proof (exp_pos (t j)). pose proof (exp_pos delta). pose proof (exp_pos (- delta)).
  assert (I : exp delta * exp (- delta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  replace (2 * delta) with (delta + delta) by ring. replace (- 2 * delta) with (- delta + - delta) by ring. rewrite !exp_plus.
  set (e := exp delta) in *. set (f := exp (- delta)) in *. set (a := exp (s j)) in *. set (b := exp (t j)) in *.
  unfold softmax. fold a b. set (X := sum n (fun m => exp (s m))) in *. set (Y := sum n (fun m => exp (t m))) in *.
  replace (b / Y / (a / X)) with (b * X / (Y * a)) by (field; lra).
  assert (0 < Y * a) by nra. split.
  - apply (Rmult_le_reg_r (Y * a)); [lra|]. replace (b * X / (Y * a) * (Y * a)) with (b * X) by (field; lra).
    apply Rle_trans with (f * a * (f * Y)); [right; ring|]. apply Rmult_le_compat; nra.
  - apply (Rmult_le_reg_r (Y * a)); [lra|]. replace (b * X / (Y * a) * (Y * a)) with (b * X) by (field; lra).
    apply Rle_trans with (e * a * (e * Y)); [|right; ring]. apply Rmult_le_compat; nra. Qed.

(* One step of gradient descent on q and k by the gradient of one score s = q . k / sqrt d, of which
   the loss has the derivative g *)
Theorem step : forall (d : nat) (q k : vector) (eta g : R), (0 < d)%nat ->
  let s := dot d q k / sqrt (INR d) in
  let q' c := q c - eta * (g * k c / sqrt (INR d)) in
  let k' c := k c - eta * (g * q c / sqrt (INR d)) in
  dot d q' k' / sqrt (INR d) - s
  = - eta * g * (dot d q q + dot d k k) / INR d + eta * eta * (g * g) * s / INR d.
Proof. intros d q k eta g D s q' k'. apply lt_INR in D. simpl in D.
  assert (R : 0 < sqrt (INR d)) by (apply sqrt_lt_R0, D). set (r := sqrt (INR d)) in *.
  assert (Sq : INR d = r * r) by (unfold r; rewrite sqrt_sqrt; lra). unfold s, q', k', dot. rewrite Sq.
  rewrite (sum_ext d _ (fun c => q c * k c + (- eta * g / r) * (q c * q c) + (- eta * g / r) * (k c * k c)
    + (eta * eta * (g * g) / (r * r)) * (q c * k c))) by (intros; field; lra).
  rewrite !sum_plus, !sum_scal. field. lra. Qed.
