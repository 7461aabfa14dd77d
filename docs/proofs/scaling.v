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

Lemma second_moment P X : E P (fun w => X w * X w) = Var P X + E P X * E P X.
Proof. rewrite Var_moments. ring. Qed.

(* The lines that end with a name and a number are those of the page's derivations. *)
Lemma mean_of_dot P d q k : independent P q k ->                   (* A1 *)
  E P (fun w => dot d (q w) (k w)) = sum d (fun i => E P (fun w => q w i) * E P (fun w => k w i)).
Proof. intro A1.
  transitivity (sum d (fun i => E P (fun w => q w i * k w i))); [apply E_sum|]. (* mean-proof: 1 *)
  apply sum_ext; intros i _; apply (A1 (fun x => x i) (fun x => x i)).          (* mean-proof: 2 *)
Qed.

Lemma mean_is_zero P d q k : independent P q k -> mean_zero P d q -> mean_zero P d k ->
  E P (fun w => dot d (q w) (k w)) = 0.
Proof. intros A1 Mq Mk. rewrite mean_of_dot by exact A1.
  transitivity (sum d (fun i => 0 * 0));                                        (* mean-proof: 3 *)
    [apply sum_ext; intros i I; rewrite (Mq i I), (Mk i I); reflexivity|].      (* mean-proof: 3 *)
  rewrite sum_const; ring.                                                      (* mean-proof: 3 *)
Qed.

(* The cell of row i and column j *)
Lemma cell P (q k : nat -> vector) i j : independent P q k ->
  E P (fun w => (q w i * q w j) * (k w i * k w j)) = E P (fun w => q w i * q w j) * E P (fun w => k w i * k w j).
Proof. intro A1.
  apply (A1 (fun q => q i * q j) (fun k => k i * k j)).                         (* cell: 1 *)
Qed.

Lemma variance_of_dot P d q k : E P (fun w => dot d (q w) (k w)) = 0 ->
  Var P (fun w => dot d (q w) (k w)) = E P (fun w => dot d (q w) (k w) * dot d (q w) (k w)).
Proof. intro M.
  transitivity (E P (fun w => dot d (q w) (k w) * dot d (q w) (k w)) - 0 * 0); [rewrite Var_moments, M; reflexivity|]. (* square: 1 *)
  ring.
Qed.

Lemma square_of_dot P d (q k : nat -> vector) :
  E P (fun w => dot d (q w) (k w) * dot d (q w) (k w))
  = sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j * (k w i * k w j)))).
Proof.
  transitivity (E P (fun w => sum d (fun i => sum d (fun j => q w i * k w i * (q w j * k w j))))); (* square: 2 *)
    [apply E_ext; intro w; apply sum_product|].                                 (* square: 2 *)
  transitivity (sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j * (k w i * k w j))))); (* square: 3 *)
    [rewrite E_sum; apply sum_ext; intros i _; rewrite E_sum; apply sum_ext; intros j _; apply E_ext; intro w; ring|]. (* square: 3 *)
  reflexivity.
Qed.

Lemma square_by_cells P d q k : independent P q k ->
  E P (fun w => dot d (q w) (k w) * dot d (q w) (k w))
  = sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j) * E P (fun w => k w i * k w j))).
Proof. intro A1. rewrite square_of_dot.
  apply sum_ext; intros i _; apply sum_ext; intros j _; apply cell, A1. Qed.

Lemma off_diagonal P d q i j : mean_zero P d q -> uncorrelated P d q ->
  (i < d)%nat -> (j < d)%nat -> i <> j -> E P (fun w => q w i * q w j) = 0.
Proof. intros A2 A4 I J D.
  transitivity (E P (fun w => q w i) * E P (fun w => q w j)); [apply A4; assumption|]. (* off-diagonal: 1 *)
  transitivity (0 * 0); [rewrite (A2 i I), (A2 j J); reflexivity|ring].         (* off-diagonal: 2 *)
Qed.

Lemma on_diagonal P d q i : mean_zero P d q -> variance_one P d q -> (i < d)%nat ->
  E P (fun w => q w i * q w i) = 1.
Proof. intros A2 A3 I.
  transitivity (Var P (fun w => q w i) + E P (fun w => q w i) * E P (fun w => q w i)); [apply second_moment|]. (* on-diagonal: 1 *)
  transitivity (1 + 0 * 0); [rewrite (A3 i I), (A2 i I); reflexivity|ring].     (* on-diagonal: 2 *)
Qed.

(* What stands off the diagonal is 0, since one of its factors is. *)
Lemma only_diagonal P d q k : mean_zero P d q -> mean_zero P d k ->
  uncorrelated P d q \/ uncorrelated P d k ->
  sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j) * E P (fun w => k w i * k w j)))
  = sum d (fun i => E P (fun w => q w i * q w i) * E P (fun w => k w i * k w i)).
Proof. intros Mq Mk A4. apply sum_ext. intros i I.
  set (c := E P (fun w => q w i * q w i) * E P (fun w => k w i * k w i)).
  rewrite (sum_ext d _ (fun j => if Nat.eqb i j then c else 0)).
  { apply (sum_one d i (fun _ => c)), I. }
  intros j J. destruct (Nat.eqb i j) eqn:D.
  - apply Nat.eqb_eq in D. subst j. reflexivity.
  - apply Nat.eqb_neq in D. destruct A4 as [A4|A4].
    + rewrite (off_diagonal P d q i j Mq A4 I J D). ring.
    + rewrite (off_diagonal P d k i j Mk A4 I J D). ring. Qed.

(* Under A1 to A4 a score has mean 0 and variance d; A4 is needed for the query or for the key. *)
Theorem variance : forall (P : space) (d : nat) (q k : nat -> vector),
  independent P q k ->
  mean_zero P d q -> mean_zero P d k ->
  variance_one P d q -> variance_one P d k ->
  uncorrelated P d q \/ uncorrelated P d k ->
  E P (fun w => dot d (q w) (k w)) = 0 /\ Var P (fun w => dot d (q w) (k w)) = INR d.
Proof. intros P d q k A1 A2q A2k A3q A3k A4.
  assert (M : E P (fun w => dot d (q w) (k w)) = 0) by (apply mean_is_zero; assumption).
  split; [exact M|].
  transitivity (E P (fun w => dot d (q w) (k w) * dot d (q w) (k w)));                            (* variance-proof: 1 *)
    [apply variance_of_dot, M|].                                                                  (* variance-proof: 1 *)
  transitivity (sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j * (k w i * k w j))))); (* variance-proof: 2 *)
    [apply square_of_dot|].                                                                       (* variance-proof: 2 *)
  transitivity (sum d (fun i => sum d (fun j => E P (fun w => q w i * q w j) * E P (fun w => k w i * k w j)))); (* variance-proof: 3 *)
    [apply sum_ext; intros i _; apply sum_ext; intros j _; apply cell, A1|].                      (* variance-proof: 3 *)
  transitivity (sum d (fun i => E P (fun w => q w i * q w i) * E P (fun w => k w i * k w i)));    (* variance-proof: 4 *)
    [apply (only_diagonal P d q k A2q A2k A4)|].                                                  (* variance-proof: 4 *)
  transitivity (sum d (fun i => 1 * 1));                                                          (* variance-proof: 5 *)
    [apply sum_ext; intros i I; rewrite (on_diagonal P d q i A2q A3q I), (on_diagonal P d k i A2k A3k I); reflexivity|]. (* variance-proof: 5 *)
  rewrite sum_const; ring.                                                                        (* variance-proof: 6 *)
Qed.

Lemma Var_scaled P X c : Var P (fun w => c * X w) = c * c * Var P X.            (* rule 4 *)
Proof. unfold Var. rewrite E_scal. etransitivity; [|apply E_scal]. apply E_ext. intro. ring. Qed.
Lemma Var_divided P X c : Var P (fun w => X w / c) = 1 / c * (1 / c) * Var P X.
Proof. rewrite <- Var_scaled. f_equal. apply functional_extensionality. intro. unfold Rdiv. ring. Qed.

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
  split; [|split; [|exact V]].
  - transitivity (1 / sqrt (INR d) * (1 / sqrt (INR d)) * Var P (fun w => dot d (q w) (k w))); [apply Var_divided|]. (* root: 1 *)
    transitivity (1 / INR d * INR d); [|field; lra].          (* root: 1 *)
    rewrite V. f_equal. rewrite <- (sqrt_sqrt (INR d)) at 3 by lra. field. apply Rgt_not_eq, sqrt_lt_R0, D.
  - rewrite Var_divided, V. field. lra. Qed.

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
  - rewrite Var_moments, square_by_cells, mean_of_dot by exact A1.
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

(* All orders of the components are equally likely: no expectation changes under a permutation. *)
Definition of_components (d : nat) (f : vector -> R) : Prop :=
  forall x y, (forall i, (i < d)%nat -> x i = y i) -> f x = f y.
Definition orders_equally_likely P d (q : nat -> vector) : Prop := forall p p', permutation d p p' ->
  forall f, of_components d f -> E P (fun w => f (fun i => q w (p i))) = E P (fun w => f (q w)).
Definition normalised P d (q : nat -> vector) : Prop := forall w, (w < outcomes P)%nat ->
  sum d (q w) = 0 /\ sum d (fun i => q w i * q w i) = INR d.

Definition swap (i j m : nat) : nat := if Nat.eqb m i then j else if Nat.eqb m j then i else m.
Lemma swap_permutes d i j : (i < d)%nat -> (j < d)%nat -> permutation d (swap i j) (swap i j).
Proof. intros I J m M. unfold swap.
  destruct (Nat.eqb_spec m i) as [->|A]; [|destruct (Nat.eqb_spec m j) as [->|B]].
  - rewrite Nat.eqb_refl. destruct (Nat.eqb_spec j i); [subst|]; auto.
  - rewrite Nat.eqb_refl. auto.
  - apply Nat.eqb_neq in A, B. rewrite A, B. auto. Qed.
Lemma E_on P X Y : (forall w, (w < outcomes P)%nat -> X w = Y w) -> E P X = E P Y.
Proof. intro H. apply sum_ext. intros w W. rewrite (H w W). reflexivity. Qed.

Lemma moments_of_normalised P d q : (2 <= d)%nat -> orders_equally_likely P d q -> normalised P d q ->
  (forall i, (i < d)%nat -> E P (fun w => q w i) = 0)
  /\ (forall i, (i < d)%nat -> E P (fun w => q w i * q w i) = 1)
  /\ (forall i j, (i < d)%nat -> (j < d)%nat -> i <> j -> E P (fun w => q w i * q w j) = -1 / (INR d - 1)).
Proof. intros D O N. apply le_INR in D as D'. simpl in D'.
  assert (Same : forall (g : R -> R) i j, (i < d)%nat -> (j < d)%nat -> E P (fun w => g (q w j)) = E P (fun w => g (q w i))).
  { intros g i j I J. rewrite <- (O _ _ (swap_permutes d i j I J) (fun x => g (x i))).
    - apply E_ext. intro w. unfold swap. rewrite Nat.eqb_refl. reflexivity.
    - intros x y H. rewrite (H i I). reflexivity. }
  assert (All : forall (g : R -> R) i, (i < d)%nat -> E P (fun w => sum d (fun j => g (q w j))) = INR d * E P (fun w => g (q w i))).
  { intros g i I. rewrite E_sum, <- sum_const. apply sum_ext. intros j J. apply Same; assumption. }
  assert (M2 : forall i, (i < d)%nat -> E P (fun w => q w i * q w i) = 1).
  { intros i I. pose proof (All (fun x => x * x) i I) as H. cbv beta in H.
    rewrite (E_on P _ (fun _ => INR d)), E_const in H by (intros w W; apply (N w W)). nra. }
  split; [|split; [exact M2|]].
  - intros i I. pose proof (All (fun x => x) i I) as H. cbv beta in H.
    rewrite (E_on P _ (fun _ => 0)), E_const in H by (intros w W; apply (N w W)). nra.
  - intros i j I J Dij.
    assert (Row : sum d (fun m => E P (fun w => q w i * q w m)) = 0).
    { rewrite <- E_sum. rewrite (E_on P _ (fun _ => 0)), E_const; [reflexivity|].
      intros w W. rewrite sum_scal. destruct (N w W) as [-> _]. ring. }
    rewrite (sum_others d i _ I), (M2 i I) in Row. unfold others in Row.
    rewrite (sum_ext d _ (fun m => if Nat.eqb i m then 0 else E P (fun w => q w i * q w j))) in Row.
    + fold (others d i (fun _ => E P (fun w => q w i * q w j))) in Row. rewrite others_const in Row by exact I.
      apply (Rmult_eq_reg_l (INR d - 1)); [|lra]. field_simplify; [lra|lra].
    + intros m M. destruct (Nat.eqb_spec i m) as [Q|Q]; [reflexivity|].
      rewrite <- (O _ _ (swap_permutes d j m J M) (fun x => x i * x j)).
      * apply E_ext. intro w. unfold swap. apply Nat.eqb_neq in Dij, Q. rewrite Dij, Q, Nat.eqb_refl. reflexivity.
      * intros x y H. rewrite (H i I), (H j J). reflexivity. Qed.

Theorem after_layernorm : forall (P : space) (d : nat) (q k : nat -> vector), (2 <= d)%nat ->
  independent P q k ->
  normalised P d q -> normalised P d k ->
  orders_equally_likely P d q -> orders_equally_likely P d k ->
  Var P (fun w => dot d (q w) (k w)) = INR d * INR d / (INR d - 1).
Proof. intros P d q k D A1 Nq Nk Oq Ok. apply le_INR in D as D'. simpl in D'.
  destruct (moments_of_normalised P d q D Oq Nq) as (Q1 & Q2 & Q3).
  destruct (moments_of_normalised P d k D Ok Nk) as (K1 & K2 & K3).
  rewrite Var_moments, mean_of_dot, square_by_cells by exact A1.
  rewrite (sum_zero d (fun i => E P (fun w => q w i) * _)) by (intros i I; rewrite Q1 by exact I; ring).
  rewrite (sum_ext d _ (fun _ => 1 + (INR d - 1) * (-1 / (INR d - 1) * (-1 / (INR d - 1))))).
  - rewrite sum_const. field. lra.
  - intros i I. rewrite (sum_others d i _ I), Q2, K2 by exact I. rewrite <- (others_const d i) by exact I.
    rewrite Rmult_1_l. f_equal. apply sum_ext. intros j J. destruct (Nat.eqb_spec i j); [reflexivity|].
    rewrite Q3, K3 by assumption. reflexivity. Qed.
