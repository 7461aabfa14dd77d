(* From scores to weights: softmax over the reals with the true exponential. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics.

Theorem shift : forall (n : nat) (s : vector) (c : R) (i : nat), (i < n)%nat ->
  softmax n (fun j => s j + c) i = softmax n s i.
Proof. intros. apply softmax_shift. lia. Qed.

Definition softmax_at (n : nat) (tau : R) (s : vector) : vector := softmax n (fun j => s j / tau).

Lemma weight_of_leader n s m : (m < n)%nat ->
  softmax n s m = 1 / (1 + others n m (fun j => exp (s j - s m))).
Proof. intro M. unfold softmax. rewrite (sum_others n m _ M).
  assert (others n m (fun j => exp (s j - s m)) = others n m (fun j => exp (s j)) / exp (s m)) as ->.
  { unfold others. rewrite <- sum_div. apply sum_ext. intros j _. destruct (Nat.eqb m j).
    - field. pose proof (exp_pos (s m)). lra.
    - unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. }
  assert (0 <= others n m (fun j => exp (s j))).
  { apply sum_nonneg. intros j _. destruct (Nat.eqb m j); [lra|left; apply exp_pos]. }
  pose proof (exp_pos (s m)). field. lra. Qed.

(* The lead delta of the largest score over each other one *)
Theorem gap : forall (n m : nat) (tau delta : R) (s : vector),
  (2 <= n)%nat -> 0 < tau -> (m < n)%nat -> 0 <= delta ->
  (forall j, (j < n)%nat -> j <> m -> s j <= s m - delta) ->
  softmax_at n tau s m >= 1 / (1 + (INR n - 1) * exp (- delta / tau))
  /\ 1 - softmax_at n tau s m <= (INR n - 1) * exp (- delta / tau)
  /\ ((forall j, (j < n)%nat -> j <> m -> s j = s m - delta) ->
      softmax_at n tau s m = 1 / (1 + (INR n - 1) * exp (- delta / tau))).
Proof. intros n m tau delta s N T M D H. unfold softmax_at. rewrite weight_of_leader by exact M.
  set (r := others n m _). assert (R0 : 0 <= r).
  { apply sum_nonneg. intros j _. destruct (Nat.eqb m j); [lra|left; apply exp_pos]. }
  assert (R1 : r <= (INR n - 1) * exp (- delta / tau)).
  { rewrite <- (others_const n m) by exact M. apply sum_le. intros j J.
    destruct (Nat.eqb m j) eqn:Q; [lra|]. apply Nat.eqb_neq in Q.
    assert (s j / tau - s m / tau <= - delta / tau).
    { unfold Rdiv. rewrite <- Rmult_minus_distr_r. apply Rmult_le_compat_r.
      - left. apply Rinv_0_lt_compat, T.
      - specialize (H j J (not_eq_sym Q)). lra. }
    destruct (Rle_lt_or_eq_dec _ _ H0) as [L| ->]; [left; apply exp_increasing, L|right; reflexivity]. }
  repeat split.
  - apply Rle_ge. unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; lra.
  - apply Rle_trans with r; [|exact R1].
    assert (r * r >= 0) by nra. apply (Rmult_le_reg_r (1 + r)); [lra|].
    replace ((1 - 1 / (1 + r)) * (1 + r)) with r by (field; lra). nra.
  - intro Same. replace r with ((INR n - 1) * exp (- delta / tau)); [reflexivity|].
    rewrite <- (others_const n m) by exact M. apply sum_ext. intros j J.
    destruct (Nat.eqb m j) eqn:Q; [reflexivity|]. apply Nat.eqb_neq in Q.
    rewrite (Same j J) by (intro; subst; apply Q; reflexivity). f_equal. field. lra. Qed.

(* The scores with x in place of score j *)
Definition with_score (s : vector) (j : nat) (x : R) : vector := fun i => if Nat.eqb j i then x else s i.
Definition jacobian (a : vector) : matrix := fun i j => (if Nat.eqb i j then a i else 0) - a i * a j.

Lemma derivative n tau s i j : (i < n)%nat -> (j < n)%nat -> 0 < tau ->
  is_derive (fun x => softmax_at n tau (with_score s j x) i) (s j)
            (jacobian (softmax_at n tau s) i j / tau).
Proof. intros I J T. set (C := others n j (fun k => exp (s k / tau))).
  assert (P : 0 <= C).
  { apply sum_nonneg. intros k _. destruct (Nat.eqb j k); [lra|left; apply exp_pos]. }
  assert (S : forall x, sum n (fun k => exp (with_score s j x k / tau)) = exp (x / tau) + C).
  { intro x. rewrite (sum_others n j _ J). f_equal.
    - unfold with_score. rewrite Nat.eqb_refl. reflexivity.
    - apply sum_ext. intros k _. unfold with_score. destruct (Nat.eqb j k); reflexivity. }
  assert (S' : sum n (fun k => exp (s k / tau)) = exp (s j / tau) + C).
  { rewrite (sum_others n j _ J). reflexivity. }
  unfold jacobian, softmax_at, softmax. rewrite S'.
  apply (is_derive_ext (fun x => exp (with_score s j x i / tau) / (exp (x / tau) + C))).
  { intro x. rewrite S. reflexivity. }
  unfold with_score. rewrite (Nat.eqb_sym i j). pose proof (exp_pos (s j / tau)).
  destruct (Nat.eqb j i) eqn:Q; [apply Nat.eqb_eq in Q; subst j|].
  - auto_derive; [unfold Rdiv in *; lra|]. unfold Rdiv in *. field. lra.
  - auto_derive; [unfold Rdiv in *; lra|]. unfold Rdiv in *. field. lra. Qed.

Theorem jacobian_of_softmax : forall (n : nat) (s g : vector) (j : nat), (j < n)%nat ->
  (forall i, (i < n)%nat ->
    is_derive (fun x => softmax n (with_score s j x) i) (s j) (jacobian (softmax n s) i j))
  /\ sum n (fun i => g i * jacobian (softmax n s) i j) = softmax n s j * (g j - sum n (fun i => softmax n s i * g i))
  /\ (forall tau i, 0 < tau -> (i < n)%nat ->
      is_derive (fun x => softmax_at n tau (with_score s j x) i) (s j)
                (jacobian (softmax_at n tau s) i j / tau))
  /\ (forall tau, 0 < tau ->
      sum n (fun i => g i * (jacobian (softmax_at n tau s) i j / tau))
      = softmax_at n tau s j * (g j - sum n (fun i => softmax_at n tau s i * g i)) / tau).
Proof. intros n s g j J.
  assert (A : forall a : vector, sum n (fun i => g i * jacobian a i j) = a j * (g j - sum n (fun i => a i * g i))).
  { intro a. unfold jacobian.
    rewrite (sum_ext n _ (fun i => (if Nat.eqb j i then g i * a i else 0) - a j * (a i * g i))).
    - rewrite sum_minus, sum_scal, (sum_one n j (fun i => g i * a i) J). ring.
    - intros i _. rewrite (Nat.eqb_sym i j). destruct (Nat.eqb j i); ring. }
  assert (O : forall t : vector, softmax_at n 1 t = softmax n t).
  { intro t. unfold softmax_at. f_equal. apply functional_extensionality. intro. field. }
  split; [|split; [apply A|split]].
  - intros i I. pose proof (derivative n 1 s i j I J Rlt_0_1) as D.
    rewrite O in D. rewrite Rdiv_1 in D.
    apply (is_derive_ext (fun x => softmax_at n 1 (with_score s j x) i)); [|exact D].
    intro. rewrite O. reflexivity.
  - intros. apply derivative; assumption.
  - intros tau T. rewrite <- A. rewrite <- sum_div. apply sum_ext. intros. field. lra. Qed.
