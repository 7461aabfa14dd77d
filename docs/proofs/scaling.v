(* Why scores are divided by the root of the dimension, on any finite space of outcomes: q w and
   k w are the query and the key that the outcome w brings. *)
From Attention Require Import Basics.

Definition mean_zero P d (q : nat -> vector) :=                    (* A2 *)
  forall i, (i < d)%nat -> E P (fun w => q w i) = 0.
Definition variance_one P d (q : nat -> vector) :=                 (* A3 *)
  forall i, (i < d)%nat -> Var P (fun w => q w i) = 1.
Definition uncorrelated P d (q : nat -> vector) :=                 (* A4 *)
  forall i j, (i < d)%nat -> (j < d)%nat -> i <> j ->
    E P (fun w => q w i * q w j) = E P (fun w => q w i) * E P (fun w => q w j).

Lemma mean_of_dot P d q k : independent P q k ->                   (* A1 *)
  E P (fun w => dot d (q w) (k w)) = sum d (fun i => E P (fun w => q w i) * E P (fun w => k w i)).
Proof. intro A1. unfold dot. rewrite E_sum. apply sum_ext. intros i _.
  apply (A1 (fun x => x i) (fun x => x i)). Qed.

Lemma square_of_dot P d q k : independent P q k ->
  E P (fun w => dot d (q w) (k w) * dot d (q w) (k w))
  = sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j) * E P (fun w => k w i * k w j))).
Proof. intro A1.
  rewrite (E_ext P _ (fun w => sum d (fun i => sum d (fun j => (q w i * q w j) * (k w i * k w j))))).
  - rewrite E_sum. apply sum_ext. intros i _. rewrite E_sum. apply sum_ext. intros j _.
    apply (A1 (fun x => x i * x j) (fun x => x i * x j)).
  - intro w. unfold dot. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. Qed.

Lemma second_moment P X : E P (fun w => X w * X w) = Var P X + E P X * E P X.
Proof. rewrite Var_moments. ring. Qed.

(* Under A1 to A4 a score has mean 0 and variance d; A4 is needed for the query or for the key. *)
Theorem variance : forall (P : space) (d : nat) (q k : nat -> vector),
  independent P q k ->
  mean_zero P d q -> mean_zero P d k ->
  variance_one P d q -> variance_one P d k ->
  uncorrelated P d q \/ uncorrelated P d k ->
  E P (fun w => dot d (q w) (k w)) = 0 /\ Var P (fun w => dot d (q w) (k w)) = INR d.
Proof. intros P d q k A1 Mq Mk Vq Vk A4.
  assert (M : E P (fun w => dot d (q w) (k w)) = 0).
  { rewrite mean_of_dot by exact A1. apply sum_zero. intros i I. rewrite Mq by exact I. ring. }
  split; [exact M|]. rewrite Var_moments, M, square_of_dot by exact A1.
  rewrite (sum_ext d _ (fun _ => 1)); [rewrite sum_const; ring|]. intros i I.   (* row i of the table *)
  rewrite (sum_ext d _ (fun j => if Nat.eqb i j then 1 else 0)); [apply sum_one, I|]. intros j J.
  destruct (Nat.eqb i j) eqn:D.
  - apply Nat.eqb_eq in D. subst j.
    rewrite !second_moment, Vq, Vk, Mq, Mk by exact I. ring.
  - apply Nat.eqb_neq in D. destruct A4 as [A4|A4]; rewrite (A4 i j I J D).
    + rewrite Mq by exact I. ring.
    + rewrite Mk by exact I. ring. Qed.

Lemma Var_divided P X c : Var P (fun w => X w / c) = Var P X / (c * c).
Proof. assert (H : forall Y a, E P (fun w => Y w / a) = E P Y / a).
  { intros. unfold Rdiv. rewrite (E_ext P _ (fun w => / a * Y w)) by (intro; ring). rewrite E_scal. ring. }
  unfold Var. rewrite H. rewrite (E_ext P _ (fun w => (X w - E P X) * (X w - E P X) / (c * c))).
  - apply H.
  - intro. unfold Rdiv. rewrite Rinv_mult. ring. Qed.

(* Divided by the root of d the variance is 1, divided by d it is 1/d, undivided it is d. *)
Theorem division : forall (P : space) (d : nat) (q k : nat -> vector),
  (0 < d)%nat ->
  independent P q k ->
  mean_zero P d q -> mean_zero P d k ->
  variance_one P d q -> variance_one P d k ->
  uncorrelated P d q \/ uncorrelated P d k ->
  Var P (fun w => dot d (q w) (k w) / sqrt (INR d)) = 1
  /\ Var P (fun w => dot d (q w) (k w) / INR d) = 1 / INR d
  /\ Var P (fun w => dot d (q w) (k w)) = INR d.
Proof. intros P d q k D A1 Mq Mk Vq Vk A4. apply lt_INR in D. simpl in D.
  destruct (variance P d q k A1 Mq Mk Vq Vk A4) as [_ V].
  rewrite !Var_divided, V, sqrt_sqrt by lra. repeat split; field; lra. Qed.

(* Within the row of a query x, on average over queries, and what moves whole rows. *)
Theorem within : forall (P : space) (d : nat) (q k : nat -> vector) (mu_q mu_k sigma_q sigma_k : R),
  independent P q k ->
  uncorrelated P d q -> uncorrelated P d k ->
  (forall i, (i < d)%nat -> E P (fun w => q w i) = mu_q /\ Var P (fun w => q w i) = sigma_q * sigma_q) ->
  (forall i, (i < d)%nat -> E P (fun w => k w i) = mu_k /\ Var P (fun w => k w i) = sigma_k * sigma_k) ->
  (forall x, Var P (fun w => dot d x (k w)) = sigma_k * sigma_k * dot d x x)
  /\ E P (fun w => sigma_k * sigma_k * dot d (q w) (q w))
     = INR d * (sigma_k * sigma_k) * (sigma_q * sigma_q + mu_q * mu_q)
  /\ Var P (fun w => dot d (q w) (k w))
     = INR d * (sigma_k * sigma_k) * (sigma_q * sigma_q + mu_q * mu_q)
       + INR d * (mu_k * mu_k) * (sigma_q * sigma_q)
  /\ (forall x, E P (fun w => dot d x (k w)) = dot d x (fun _ => mu_k))
  /\ Var P (fun w => dot d (q w) (fun _ => mu_k)) = INR d * (mu_k * mu_k) * (sigma_q * sigma_q)
  /\ (forall n s c i, (0 < n)%nat -> softmax n (fun j => s j + c) i = softmax n s i).
Proof. intros P d q k mq mk sq sk A1 Cq Ck Hq Hk.
  assert (Sq : forall i, (i < d)%nat -> E P (fun w => q w i * q w i) = sq * sq + mq * mq).
  { intros i I. rewrite second_moment. destruct (Hq i I) as [-> ->]. ring. }
  assert (Sk : forall i, (i < d)%nat -> E P (fun w => k w i * k w i) = sk * sk + mk * mk).
  { intros i I. rewrite second_moment. destruct (Hk i I) as [-> ->]. ring. }
  assert (T : forall (a b : R) i, (i < d)%nat ->   (* a row of the table: a on the diagonal, b beside it *)
    sum d (fun j => if Nat.eqb i j then a else b) = a - b + INR d * b).
  { intros a b i I. rewrite (sum_ext d _ (fun j => (if Nat.eqb i j then a - b else 0) + b)).
    - rewrite sum_plus, (sum_one d i (fun _ => a - b) I), sum_const. reflexivity.
    - intros j _. destruct (Nat.eqb i j); ring. }
  assert (Fixed : forall x, E P (fun w => dot d x (k w)) = dot d x (fun _ => mk)).
  { intro x. unfold dot. rewrite E_sum. apply sum_ext. intros i I. rewrite E_scal.
    destruct (Hk i I) as [-> _]. reflexivity. }
  assert (Of_q : forall c : R, Var P (fun w => dot d (q w) (fun _ => c)) = INR d * (c * c) * (sq * sq)).
  { intro c. rewrite Var_moments.
    rewrite (E_ext P _ (fun w => sum d (fun i => sum d (fun j => c * c * (q w i * q w j))))).
    2:{ intro w. unfold dot. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
    rewrite E_sum.
    rewrite (sum_ext d _ (fun _ => c * c * (sq * sq + INR d * (mq * mq)))).
    2:{ intros i I. rewrite E_sum.
        rewrite (sum_ext d _ (fun j => if Nat.eqb i j then c * c * (sq * sq + mq * mq) else c * c * (mq * mq))).
        - rewrite T by exact I. ring.
        - intros j J. rewrite E_scal. destruct (Nat.eqb i j) eqn:D.
          + apply Nat.eqb_eq in D. subst j. rewrite Sq by exact I. reflexivity.
          + apply Nat.eqb_neq in D. rewrite (Cq i j I J D).
            destruct (Hq i I) as [-> _]. destruct (Hq j J) as [-> _]. reflexivity. }
    rewrite sum_const. unfold dot. rewrite E_sum.
    rewrite (sum_ext d _ (fun _ => c * mq)).
    2:{ intros i I. rewrite (E_ext P _ (fun w => c * q w i)) by (intro; ring).
        rewrite E_scal. destruct (Hq i I) as [-> _]. reflexivity. }
    rewrite sum_const. ring. }
  repeat split.
  - intro x. rewrite Var_moments, Fixed.
    rewrite (E_ext P _ (fun w => sum d (fun i => sum d (fun j => x i * x j * (k w i * k w j))))).
    2:{ intro w. unfold dot. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
    rewrite E_sum. unfold dot. rewrite sum_product, <- sum_minus, <- sum_scal. apply sum_ext.
    intros i I. rewrite E_sum, <- sum_minus.
    rewrite (sum_ext d _ (fun j => if Nat.eqb i j then sk * sk * (x i * x j) else 0)).
    + rewrite sum_one by exact I. reflexivity.
    + intros j J. rewrite E_scal. destruct (Nat.eqb i j) eqn:D.
      * apply Nat.eqb_eq in D. subst j. rewrite Sk by exact I. ring.
      * apply Nat.eqb_neq in D. rewrite (Ck i j I J D).
        destruct (Hk i I) as [-> _]. destruct (Hk j J) as [-> _]. ring.
  - rewrite E_scal. unfold dot. rewrite E_sum.
    rewrite (sum_ext d _ (fun _ => sq * sq + mq * mq)) by (intros i I; apply Sq, I).
    rewrite sum_const. ring.
  - rewrite Var_moments, square_of_dot, mean_of_dot by exact A1.
    rewrite (sum_ext d (fun i => E P (fun w => q w i) * _) (fun _ => mq * mk)).
    2:{ intros i I. destruct (Hq i I) as [-> _]. destruct (Hk i I) as [-> _]. reflexivity. }
    rewrite sum_const.
    rewrite (sum_ext d _ (fun _ => (sq * sq + mq * mq) * (sk * sk + mk * mk)
                                   - mq * mq * (mk * mk) + INR d * (mq * mq * (mk * mk)))).
    + rewrite sum_const. ring.
    + intros i I. rewrite <- (T _ _ i I). apply sum_ext. intros j J. destruct (Nat.eqb i j) eqn:D.
      * apply Nat.eqb_eq in D. subst j. rewrite Sq, Sk by exact I. reflexivity.
      * apply Nat.eqb_neq in D. rewrite (Cq i j I J D), (Ck i j I J D).
        destruct (Hq i I) as [-> _]. destruct (Hk i I) as [-> _].
        destruct (Hq j J) as [-> _]. destruct (Hk j J) as [-> _]. reflexivity.
  - apply Fixed.
  - apply Of_q.
  - intros. apply softmax_shift. assumption. Qed.
