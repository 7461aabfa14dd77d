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
    is_derive (fun x : R => softmax n (with_score s j x) i) (s j) (jacobian (softmax n s) i j))
  /\ sum n (fun i => g i * jacobian (softmax n s) i j) = softmax n s j * (g j - sum n (fun i => softmax n s i * g i))
  /\ (forall tau i, 0 < tau -> (i < n)%nat ->
      is_derive (fun x : R => softmax_at n tau (with_score s j x) i) (s j)
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

(* Saturation: the norm of the Jacobian is the root of the sum of the squares of all entries. *)
Definition matrix_norm (n : nat) (J : matrix) : R := sqrt (sum n (fun i => sum n (fun j => J i j * J i j))).
Lemma squares_of_jacobian n a : sum n a = 1 -> let s2 := sum n (fun i => a i * a i) in
  sum n (fun i => sum n (fun j => jacobian a i j * jacobian a i j))
  = s2 - 2 * sum n (fun i => a i * a i * a i) + s2 * s2.
Proof. intros S s2. unfold s2. rewrite sum_product, <- sum_scal, <- sum_minus, <- sum_plus.
  apply sum_ext. intros i I.
  rewrite (sum_ext n _ (fun j => (if Nat.eqb i j then a i * a i - 2 * (a i * a i * a j) else 0)
    + a i * a i * (a j * a j))).
  - rewrite sum_plus, (sum_one n i (fun j => a i * a i - 2 * (a i * a i * a j)) I). reflexivity.
  - intros j _. unfold jacobian. destruct (Nat.eqb i j); ring. Qed.
(* The sum of a i (1 - a i) (1 - 2 a i) is one over pairs: a i a j (1 - a i - a j), i and j not equal *)
Lemma pairs_of_weights n a : (forall i, (i < n)%nat -> 0 <= a i) -> sum n a = 1 ->
  0 <= sum n (fun i => a i * (1 - a i) * (1 - 2 * a i)).
Proof. intros P S.
  set (pair i j := if Nat.eqb i j then 0 else a i * a j * (1 - 2 * a i)).
  assert (H : sum n (fun i => a i * (1 - a i) * (1 - 2 * a i)) = sum n (fun i => sum n (pair i))).
  { apply sum_ext. intros i I. pose proof (sum_others n i a I) as O. rewrite S in O.
    replace (1 - a i) with (others n i a) by lra. unfold others.
    rewrite <- sum_scal, <- sum_scal_r. apply sum_ext. intros j _. unfold pair. destruct (Nat.eqb i j); ring. }
  assert (W : sum n (fun i => sum n (pair i)) = sum n (fun i => sum n (fun j => pair j i))) by apply sum_swap.
  rewrite H. apply (Rmult_le_reg_l 2); [lra|]. rewrite Rmult_0_r. replace (2 * _) with
    (sum n (fun i => sum n (pair i)) + sum n (fun i => sum n (fun j => pair j i))) by lra.
  rewrite <- sum_plus. apply sum_nonneg. intros i I. rewrite <- sum_plus. apply sum_nonneg. intros j J.
  unfold pair. rewrite (Nat.eqb_sym j i). destruct (Nat.eqb i j) eqn:Q; [lra|]. apply Nat.eqb_neq in Q.
  replace (a i * a j * (1 - 2 * a i) + a j * a i * (1 - 2 * a j)) with (2 * (a i * a j) * (1 - a i - a j)) by ring.
  assert (a i + a j <= 1).
  { rewrite <- S, (sum_others n i a I). apply Rplus_le_compat_l.
    apply Rle_trans with (if Nat.eqb i j then 0 else a j).
    - destruct (Nat.eqb i j) eqn:E'; [apply Nat.eqb_eq in E'; contradiction|lra].
    - apply (sum_term n (fun m => if Nat.eqb i m then 0 else a m) j J). intros m M.
      destruct (Nat.eqb i m); [lra|apply P, M]. }
  pose proof (P i I). pose proof (P j J). apply Rmult_le_pos; nra. Qed.

Theorem saturation : forall (n m : nat) (s g : vector) (delta : R),
  (2 <= n)%nat -> (m < n)%nat -> 0 <= delta ->
  (forall j, (j < n)%nat -> j <> m -> s j <= s m - delta) ->
  let J := jacobian (softmax n s) in
  matrix_norm n J <= 2 * (1 - softmax n s m)
  /\ 2 * (1 - softmax n s m) <= 2 * (INR n - 1) * exp (- delta)
  /\ norm n (fun j => sum n (fun i => g i * J i j)) <= norm n g * matrix_norm n J.
Proof. intros n m s g delta N M D H J. set (a := softmax n s) in *. split; [|split].
  - assert (P : forall i, 0 < a i) by (intro; apply softmax_pos; lia).
    assert (S : sum n a = 1) by (apply softmax_sum; lia).
    pose proof (pairs_of_weights n a (fun i _ => Rlt_le _ _ (P i)) S) as Q.
    set (s2 := sum n (fun i => a i * a i)). set (s3 := sum n (fun i => a i * a i * a i)).
    replace (sum n (fun i => a i * (1 - a i) * (1 - 2 * a i))) with (1 - 3 * s2 + 2 * s3) in Q.
    2:{ unfold s2, s3. rewrite <- S at 1. rewrite <- !sum_scal, <- sum_minus, <- sum_plus. apply sum_ext. intros. ring. }
    assert (A1 : a m <= 1) by (rewrite <- S; apply sum_term; [exact M|intros; left; apply P]).
    assert (A2 : a m * a m <= s2) by (apply (sum_term n (fun i => a i * a i) m M); intros; apply Rle_0_sqr).
    assert (S2 : s2 <= 1).
    { unfold s2. rewrite <- S at 1. apply sum_le. intros i I.
      assert (a i <= 1) by (rewrite <- S; apply sum_term; [exact I|intros; left; apply P]). specialize (P i). nra. }
    unfold matrix_norm, J. rewrite squares_of_jacobian by exact S. fold s2 s3.
    apply Rle_trans with (1 - s2); [|specialize (P m); nra].
    rewrite <- (sqrt_square (1 - s2)) by lra. apply sqrt_le_1_alt. lra.
  - destruct (gap n m 1 delta s N Rlt_0_1 M D H) as (_ & G & _). unfold softmax_at in G.
    replace (softmax n (fun j => s j / 1)) with a in G.
    + rewrite Rdiv_1 in G. lra.
    + unfold a. f_equal. apply functional_extensionality. intro. field.
  - unfold norm, matrix_norm. rewrite <- sqrt_mult.
    + apply sqrt_le_1_alt. rewrite (sum_swap n n (fun i j => J i j * J i j)), <- sum_scal. apply sum_le.
      intros j _. apply (cauchy_schwarz_squared n g (fun i => J i j)).
    + apply dot_nonneg.
    + apply sum_nonneg. intros. apply sum_nonneg. intros. apply Rle_0_sqr. Qed.

(* The entropy of the weights, as a function of the temperature *)
Definition entropy (n : nat) (a : vector) : R := - sum n (fun i => a i * ln (a i)).
Definition weighted_mean (n : nat) (a s : vector) : R := sum n (fun i => a i * s i).
Definition spread (n : nat) (a s : vector) : R :=
  sum n (fun i => a i * ((s i - weighted_mean n a s) * (s i - weighted_mean n a s))).
Lemma is_derive_sum n f df x : (forall i, (i < n)%nat -> is_derive (f i) x (df i)) ->
  is_derive (fun t => sum n (fun i => f i t)) x (sum n df).
Proof. induction n; intro H; simpl.
  - apply is_derive_ext with (fun _ => 0); [reflexivity|]. apply @is_derive_const.
  - apply (is_derive_plus (fun t => sum n (fun i => f i t)) (f n)); [apply IHn|]; auto with arith. Qed.

Lemma entropy_form n t s : (0 < n)%nat -> entropy n (softmax_at n t s)
  = ln (sum n (fun i => exp (s i / t))) - sum n (fun i => s i / t * exp (s i / t)) / sum n (fun i => exp (s i / t)).
Proof. intro N. pose proof (exp_sum_pos n (fun j => s j / t) N) as P. unfold entropy, softmax_at, softmax.
  set (Z := sum n (fun j => exp (s j / t))) in *.
  rewrite (sum_ext n _ (fun i => s i / t * exp (s i / t) / Z - exp (s i / t) * (ln Z / Z))).
  - rewrite sum_minus, sum_div, sum_scal_r. fold Z. field. apply Rgt_not_eq, P.
  - intros i _. rewrite ln_div, ln_exp by (try apply exp_pos; exact P).
    generalize (s i / t). intro x. field. apply Rgt_not_eq, P. Qed.

Theorem entropy_rises : forall (n : nat) (tau : R) (s : vector), (0 < n)%nat -> 0 < tau ->
  let a := softmax_at n tau s in
  is_derive (fun t : R => entropy n (softmax_at n t s)) tau (spread n a s / tau ^ 3)
  /\ ((exists i j, (i < n)%nat /\ (j < n)%nat /\ s i <> s j) -> 0 < spread n a s / tau ^ 3).
Proof. intros n tau s N T a. split.
  - apply (is_derive_ext (fun t => ln (sum n (fun i => exp (s i / t)))
      - sum n (fun i => s i / t * exp (s i / t)) / sum n (fun i => exp (s i / t)))).
    { intro t. symmetry. apply entropy_form, N. }
    set (Z t := sum n (fun i => exp (s i / t))). set (M t := sum n (fun i => s i / t * exp (s i / t))).
    assert (DZ : is_derive Z tau (sum n (fun i => - (s i / (tau * tau)) * exp (s i / tau)))).
    { apply (is_derive_sum n (fun i t => exp (s i / t))). intros i _. auto_derive; [repeat split; apply Rgt_not_eq, T|]. unfold Rdiv. field. apply Rgt_not_eq, T. }
    assert (DM : is_derive M tau (sum n (fun i => - (s i / (tau * tau)) * exp (s i / tau)
       - s i * s i / (tau * tau * tau) * exp (s i / tau)))).
    { apply (is_derive_sum n (fun i t => s i / t * exp (s i / t))). intros i _. auto_derive; [repeat split; apply Rgt_not_eq, T|]. unfold Rdiv. field. apply Rgt_not_eq, T. }
    assert (P : 0 < Z tau) by (apply (exp_sum_pos n (fun i => s i / tau)); exact N).
    set (A1 := sum n (fun i => s i * exp (s i / tau))). set (A2 := sum n (fun i => s i * s i * exp (s i / tau))).
    assert (EZ : sum n (fun i => - (s i / (tau * tau)) * exp (s i / tau)) = - A1 / (tau * tau)).
    { replace (- A1 / (tau * tau)) with (-1 / (tau * tau) * A1) by (field; lra).
      unfold A1. rewrite <- sum_scal. apply sum_ext. intros. field. lra. }
    assert (EM : sum n (fun i => - (s i / (tau * tau)) * exp (s i / tau) - s i * s i / (tau * tau * tau) * exp (s i / tau))
      = - A1 / (tau * tau) - A2 / (tau * tau * tau)).
    { rewrite sum_minus, EZ. f_equal. unfold A2. rewrite <- sum_div. apply sum_ext. intros. field. lra. }
    assert (M1 : M tau = A1 / tau) by (unfold M, A1; rewrite <- sum_div; apply sum_ext; intros; field; lra).
    assert (Ms : weighted_mean n a s = A1 / Z tau).
    { unfold weighted_mean, a, softmax_at, softmax, A1. fold (Z tau). rewrite <- sum_div. apply sum_ext. intros. field. lra. }
    assert (Sp : spread n a s = A2 / Z tau - A1 / Z tau * (A1 / Z tau)).
    { unfold spread. rewrite Ms. set (mu := A1 / Z tau).
      rewrite (sum_ext n _ (fun i => s i * s i * exp (s i / tau) / Z tau - 2 * mu * (s i * exp (s i / tau) / Z tau)
        + mu * mu * (exp (s i / tau) / Z tau))).
      - rewrite sum_plus, sum_minus, !sum_scal, !sum_div. fold A1 A2 (Z tau) mu. unfold mu. field. lra.
      - intros i _. unfold a, softmax_at, softmax. fold (Z tau). field. lra. }
    rewrite EZ in DZ. rewrite EM in DM. rewrite Sp.
    assert (D : is_derive (fun t => ln (Z t) - M t / Z t) tau
      (- A1 / (tau * tau) / Z tau - ((- A1 / (tau * tau) - A2 / (tau * tau * tau)) * Z tau - M tau * (- A1 / (tau * tau))) / (Z tau * Z tau))).
    { auto_derive.
      - repeat split; try (eexists; eassumption); lra.
      - rewrite (is_derive_unique (fun x : R => Z x) tau _ DZ), (is_derive_unique (fun x : R => M x) tau _ DM). field. repeat split; lra. }
    rewrite M1 in D. replace ((A2 / Z tau - A1 / Z tau * (A1 / Z tau)) / tau ^ 3)
      with (- A1 / (tau * tau) / Z tau - ((- A1 / (tau * tau) - A2 / (tau * tau * tau)) * Z tau - A1 / tau * (- A1 / (tau * tau))) / (Z tau * Z tau));
      [exact D|]. field. split; lra.
  - intros (i & j & I & J & D). apply Rdiv_lt_0_compat; [|apply pow_lt, T].
    assert (P : forall m, 0 < a m) by (intro; apply softmax_pos, N).
    set (mu := weighted_mean n a s).
    assert (exists m, (m < n)%nat /\ s m <> mu) as (m & Hm & Dm).
    { destruct (Req_dec (s i) mu) as [E1|E1]; [|exists i; auto]. exists j. split; [exact J|]. congruence. }
    apply Rlt_le_trans with (a m * ((s m - mu) * (s m - mu))).
    + apply Rmult_lt_0_compat; [apply P|]. apply Rsqr_pos_lt. lra.
    + apply (sum_term n (fun i => a i * ((s i - mu) * (s i - mu))) m Hm). intros k _.
      apply Rmult_le_pos; [left; apply P|apply Rle_0_sqr]. Qed.

(* The four requirements on a rule that makes weights from the scores of n keys, for every n *)
Definition rule := nat -> vector -> vector.
Definition gives_averages (r : rule) : Prop := forall n s, (0 < n)%nat ->
  (forall i, (i < n)%nat -> 0 < r n s i) /\ sum n (r n s) = 1.
Definition compares_pairs (r : rule) : Prop := exists h : R -> R, forall n s i j, (i < n)%nat -> (j < n)%nat ->
  r n s i / r n s j = h (s i - s j).
Definition is_continuous (r : rule) : Prop := forall n s i j, (i < n)%nat -> (j < n)%nat ->
  continuous (fun x => r n (with_score s j x) i) (s j).
Definition keeps_order (r : rule) : Prop := forall n s i j, (i < n)%nat -> (j < n)%nat ->
  s i < s j -> r n s i < r n s j.
Definition is_softmax (r : rule) : Prop := exists tau, 0 < tau /\
  forall n s i, (i < n)%nat -> r n s i = softmax_at n tau s i.

(* An increasing function that turns sums into sums is a straight line. *)
Lemma additive_increasing f : (forall x y, f (x + y) = f x + f y) -> (forall x, 0 < x -> 0 < f x) ->
  forall x, f x = f 1 * x.
Proof. intros A I.
  assert (F0 : f 0 = 0) by (pose proof (A 0 0) as H; rewrite Rplus_0_r in H; lra).
  assert (N : forall n x, f (INR n * x) = INR n * f x).
  { induction n; intro x; [simpl; rewrite !Rmult_0_l; exact F0|].
    rewrite S_INR, Rmult_plus_distr_r, A, IHn, Rmult_1_l. ring. }
  assert (Mono : forall x y, x <= y -> f x <= f y).
  { intros x y [L| ->]; [|lra]. replace y with (x + (y - x)) by ring. rewrite A.
    pose proof (I (y - x) ltac:(lra)). lra. }
  assert (C : 0 < f 1) by (apply I; lra).
  assert (Pos : forall x, 0 <= x -> f x = f 1 * x).
  { intros x X. destruct (Req_dec (f x) (f 1 * x)) as [E0|E0]; [exact E0|exfalso].
    set (d := Rabs (f x - f 1 * x)). assert (D : 0 < d) by (apply Rabs_pos_lt; lra).
    destruct (nfloor_ex (f 1 / d)) as (n & Hn); [apply Rlt_le, Rdiv_lt_0_compat; assumption|].
    assert (B : f 1 < INR (S n) * d).
    { rewrite S_INR. apply (Rmult_lt_reg_r (/ d)); [apply Rinv_0_lt_compat, D|].
      replace ((INR n + 1) * d * / d) with (INR n + 1) by (field; lra). apply Hn. }
    assert (NX : 0 <= INR (S n) * x) by (apply Rmult_le_pos; [apply pos_INR|exact X]).
    destruct (nfloor_ex (INR (S n) * x) NX) as (m & M1 & M2).
    pose proof (Mono _ _ M1) as L1. pose proof (Mono _ _ (Rlt_le _ _ M2)) as L2.
    rewrite A, N in L2. rewrite N in L1.
    pose proof (N m 1) as Nm. rewrite Rmult_1_r in Nm. rewrite Nm in L1, L2.
    assert (INR (S n) * d <= f 1); [|lra]. unfold d.
    rewrite <- (Rabs_pos_eq (INR (S n))) by apply pos_INR. rewrite <- Rabs_mult. apply Rabs_le.
    assert (f 1 * INR m <= f 1 * (INR (S n) * x)) by (apply Rmult_le_compat_l; lra).
    assert (f 1 * (INR (S n) * x) <= f 1 * (INR m + 1)) by (apply Rmult_le_compat_l; lra).
    split; lra. }
  intro x. destruct (Rle_dec 0 x) as [X|X]; [apply Pos, X|].
  assert (f x = - f (- x)) as -> by (pose proof (A x (- x)) as H; rewrite Rplus_opp_r, F0 in H; lra).
  rewrite Pos by lra. ring. Qed.

Definition three (x y z : R) : vector := fun i => match i with O => x | S O => y | _ => z end.
Lemma requirements_give_softmax r : gives_averages r -> compares_pairs r -> keeps_order r -> is_softmax r.
Proof. intros P (h & H) O.
  assert (Pos : forall x, 0 < h x).
  { intro x. pose proof (H 3%nat (three x 0 0) 0%nat 1%nat ltac:(lia) ltac:(lia)) as E1. simpl in E1. rewrite Rminus_0_r in E1.
    rewrite <- E1. destruct (P 3%nat (three x 0 0) ltac:(lia)) as [Q _]. apply Rdiv_lt_0_compat; apply Q; lia. }
  assert (Mul : forall x y, h (x + y) = h x * h y).
  { intros x y. set (s := three (x + y) y 0). destruct (P 3%nat s ltac:(lia)) as [Q _].
    pose proof (H 3%nat s 0%nat 2%nat ltac:(lia) ltac:(lia)) as E1. pose proof (H 3%nat s 0%nat 1%nat ltac:(lia) ltac:(lia)) as E2.
    pose proof (H 3%nat s 1%nat 2%nat ltac:(lia) ltac:(lia)) as E3. unfold s in E1, E2, E3. simpl in E1, E2, E3.
    replace (x + y - 0) with (x + y) in E1 by ring. replace (x + y - y) with x in E2 by ring.
    rewrite Rminus_0_r in E3. fold s in E1, E2, E3. rewrite <- E1, <- E2, <- E3.
    pose proof (Q 1%nat ltac:(lia)). pose proof (Q 2%nat ltac:(lia)). field. lra. }
  assert (Inc : forall x, 0 < x -> 1 < h x).
  { intros x X. set (s := three x 0 0). destruct (P 3%nat s ltac:(lia)) as [Q _].
    pose proof (H 3%nat s 0%nat 1%nat ltac:(lia) ltac:(lia)) as E1. unfold s in E1. simpl in E1. rewrite Rminus_0_r in E1.
    fold s in E1. rewrite <- E1. pose proof (O 3%nat s 1%nat 0%nat ltac:(lia) ltac:(lia) X). pose proof (Q 1%nat ltac:(lia)).
    apply (Rmult_lt_reg_r (r 3%nat s 1%nat)); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (L : forall x, ln (h x) = ln (h 1) * x).
  { apply (additive_increasing (fun x => ln (h x))).
    - intros x y. rewrite Mul. apply ln_mult; apply Pos.
    - intros x X. rewrite <- ln_1. apply ln_increasing; [lra|apply Inc, X]. }
  assert (C : 0 < ln (h 1)) by (rewrite <- ln_1; apply ln_increasing; [lra|apply Inc; lra]).
  exists (/ ln (h 1)). split; [apply Rinv_0_lt_compat, C|]. intros n s i I.
  assert (N : (0 < n)%nat) by lia. destruct (P n s N) as [Q S].
  assert (W : forall j, (j < n)%nat -> r n s j = exp (s j / / ln (h 1)) * (r n s i / exp (s i / / ln (h 1)))).
  { intros j J. pose proof (H n s j i J I) as E1. pose proof (Q i I) as Qi.
    assert (r n s j = h (s j - s i) * r n s i) as -> by (rewrite <- E1; field; lra).
    rewrite <- (exp_ln (h (s j - s i))) by apply Pos. rewrite L.
    replace (ln (h 1) * (s j - s i)) with (s j / / ln (h 1) + - (s i / / ln (h 1))) by (field; lra).
    rewrite exp_plus, exp_Ropp. field. apply Rgt_not_eq, exp_pos. }
  set (k := r n s i / exp (s i / / ln (h 1))) in *.
  rewrite (sum_ext n (r n s) (fun j => exp (s j / / ln (h 1)) * k)) in S by exact W.
  rewrite sum_scal_r in S. unfold softmax_at, softmax. rewrite (W i I).
  pose proof (exp_sum_pos n (fun j => s j / / ln (h 1)) N) as Z. cbv beta in Z.
  set (T := sum n (fun j => exp (s j / / ln (h 1)))) in *.
  replace k with (1 / T); [unfold Rdiv; ring|]. apply (Rmult_eq_reg_l T); [rewrite S; field|]; lra. Qed.

Lemma softmax_meets r : is_softmax r -> gives_averages r /\ compares_pairs r /\ is_continuous r /\ keeps_order r.
Proof. intros (tau & T & E1). split; [|split; [|split]].
  - intros n s N. split; [intros i I; rewrite E1 by exact I; apply softmax_pos, N|].
    rewrite (sum_ext n _ (softmax_at n tau s)) by (intros; apply E1; assumption). apply softmax_sum, N.
  - exists (fun x => exp (x / tau)). intros n s i j I J. rewrite !E1 by assumption. unfold softmax_at, softmax.
    pose proof (exp_sum_pos n (fun j => s j / tau) ltac:(lia)). pose proof (exp_pos (s j / tau)). cbv beta in *.
    replace ((s i - s j) / tau) with (s i / tau + - (s j / tau)) by (field; lra).
    rewrite exp_plus, exp_Ropp. field. lra.
  - intros n s i j I J. apply (continuous_ext (fun x => softmax_at n tau (with_score s j x) i)).
    + intro x. symmetry. apply E1, I.
    + apply (ex_derive_continuous (fun x => softmax_at n tau (with_score s j x) i)).
      eexists. apply derivative; assumption.
  - intros n s i j I J L. rewrite !E1 by assumption. unfold softmax_at, softmax. apply Rmult_lt_compat_r.
    + apply Rinv_0_lt_compat, (exp_sum_pos n (fun j => s j / tau)). lia.
    + apply exp_increasing. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, T|exact L]. Qed.

Lemma continuous_at_score s i j : continuous (fun x => with_score s j x i) (s j).
Proof. unfold with_score. destruct (Nat.eqb j i); [apply continuous_id|apply continuous_const]. Qed.
Lemma continuous_sum n (f : nat -> R -> R) x : (forall i, (i < n)%nat -> continuous (f i) x) ->
  continuous (fun t => sum n (fun i => f i t)) x.
Proof. induction n; intro H; simpl; [apply continuous_const|].
  apply (continuous_plus (fun t => sum n (fun i => f i t)) (f n)); [apply IHn|]; auto with arith. Qed.
Definition without_division : rule := fun n s i => exp (s i).
Definition one_more : rule := fun n s i => (1 + exp (s i)) / sum n (fun j => 1 + exp (s j)).
Definition equal_shares : rule := fun n s i => 1 / INR n.

(* Each of requirements 1, 2 and 4 is needed: these rules meet the other three. *)
Theorem requirements :
  (forall r, gives_averages r /\ compares_pairs r /\ is_continuous r /\ keeps_order r <-> is_softmax r)
  /\ (forall r, gives_averages r -> compares_pairs r -> keeps_order r -> is_continuous r)
  /\ (exists r, compares_pairs r /\ is_continuous r /\ keeps_order r /\ ~ is_softmax r)
  /\ (exists r, gives_averages r /\ is_continuous r /\ keeps_order r /\ ~ is_softmax r)
  /\ (exists r, gives_averages r /\ compares_pairs r /\ is_continuous r /\ ~ is_softmax r).
Proof. split; [|split; [|split; [|split]]].
  - intro r. split; [intros (A & B & _ & D); apply requirements_give_softmax; assumption|apply softmax_meets].
  - intros r A B D. apply softmax_meets, requirements_give_softmax; assumption.
  - exists without_division. split; [|split; [|split]].
    + exists exp. intros n s i j _ _. unfold without_division, Rminus. rewrite exp_plus, exp_Ropp. reflexivity.
    + intros n s i j _ _. apply (continuous_comp (fun x => with_score s j x i) exp); [apply continuous_at_score|].
      apply (ex_derive_continuous exp). eexists. apply is_derive_exp.
    + intros n s i j _ _ L. apply exp_increasing, L.
    + intro S. destruct (softmax_meets _ S) as [A _]. destruct (A 2%nat (fun _ => 0) ltac:(lia)) as [_ B].
      unfold without_division in B. simpl in B. rewrite exp_0 in B. lra.
  - exists one_more. assert (G : forall x, 0 < 1 + exp x) by (intro x; pose proof (exp_pos x); lra).
    assert (Z : forall n s, (0 < n)%nat -> 0 < sum n (fun j => 1 + exp (s j))) by (intros; apply sum_pos; [assumption|intros; apply G]).
    split; [|split; [|split]].
    + intros n s N. split; [intros i I; apply Rdiv_lt_0_compat; [apply G|apply Z, N]|].
      unfold one_more. rewrite sum_div. specialize (Z n s N). field. lra.
    + intros n s i j I J. unfold one_more, Rdiv.
      assert (Ce : forall k, continuous (fun x => 1 + exp (with_score s j x k)) (s j)).
      { intro k. apply (continuous_plus (fun _ => 1) (fun x => exp (with_score s j x k))); [apply continuous_const|].
        apply (continuous_comp (fun x => with_score s j x k) exp); [apply continuous_at_score|].
        apply (ex_derive_continuous exp). eexists. apply is_derive_exp. }
      apply (continuous_mult (fun x => 1 + exp (with_score s j x i)) (fun x => / sum n (fun k => 1 + exp (with_score s j x k)))); [apply Ce|].
      apply (continuous_comp (fun x => sum n (fun k => 1 + exp (with_score s j x k))) Rinv).
      * apply continuous_sum. intros. apply Ce.
      * apply continuous_Rinv. apply Rgt_not_eq, Z. lia.
    + intros n s i j I J L. unfold one_more, Rdiv. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, Z; lia|].
      apply Rplus_lt_compat_l, exp_increasing, L.
    + intro S. destruct (softmax_meets _ S) as (_ & (h & H) & _). set (s := three 1 0 (-1)).
      pose proof (H 3%nat s 0%nat 1%nat ltac:(lia) ltac:(lia)) as E1. pose proof (H 3%nat s 1%nat 2%nat ltac:(lia) ltac:(lia)) as E2.
      replace (s 1%nat - s 2%nat) with (s 0%nat - s 1%nat) in E2 by (unfold s; simpl; ring).
      rewrite <- E1 in E2. unfold one_more in E2. specialize (Z 3%nat s ltac:(lia)).
      set (T := sum 3 (fun j => 1 + exp (s j))) in *. unfold s in E2. simpl in E2.
      replace (exp (-1)) with (/ exp 1) in E2 by (rewrite <- exp_Ropp; reflexivity).
      rewrite exp_0 in E2. pose proof (exp_ineq1 1 ltac:(lra)) as Ee. set (e := exp 1) in *.
      assert (Q : (1 + 1) * (1 + 1) = (1 + e) * (1 + / e)).
      { apply (f_equal (fun x => x * (1 + / e) * (1 + 1))) in E2. assert (0 < / e) by (apply Rinv_0_lt_compat; lra).
        replace ((1 + 1) / T / ((1 + / e) / T) * (1 + / e) * (1 + 1)) with ((1 + 1) * (1 + 1)) in E2 by (field; split; nra).
        rewrite E2. field. lra. }
      assert ((e - 1) * (e - 1) = 0); [|nra]. apply (f_equal (fun x => x * e)) in Q. field_simplify in Q; [nra|lra].
  - exists equal_shares. split; [|split; [|split]].
    + intros n s N. apply lt_INR in N. simpl in N. unfold equal_shares. split; [intros; apply Rdiv_lt_0_compat; lra|].
      rewrite sum_const. field. lra.
    + exists (fun _ => 1). intros n s i j I _. unfold equal_shares. assert (0 < INR n) by (apply lt_0_INR; lia). field. lra.
    + intros n s i j _ _. apply continuous_const.
    + intro S. destruct (softmax_meets _ S) as (_ & _ & _ & O). specialize (O 2%nat (three 0 1 0) 0%nat 1%nat ltac:(lia) ltac:(lia)).
      unfold equal_shares, three in O. lra. Qed.
