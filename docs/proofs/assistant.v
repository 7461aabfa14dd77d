(* Preferences: the policy that is best for a reward less a divergence from a reference. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics masking language_model.

(* The mean reward of a policy, less beta times its divergence from the reference; texts are numbered *)
Definition objective (n : nat) (reference reward : vector) (beta : R) (policy : vector) : R :=
  sum n (fun y => policy y * reward y) - beta * divergence n policy reference.
Definition constant (n : nat) (reference reward : vector) (beta : R) : R :=
  sum n (fun y => reference y * exp (reward y / beta)).
Definition best_policy (n : nat) (reference reward : vector) (beta : R) : vector :=
  fun y => reference y * exp (reward y / beta) / constant n reference reward beta.

(* Of one text: its part of the objective is that of ln C, less its part of the divergence from the best *)
Lemma one_text a p r beta C : 0 <= a -> 0 < p -> 0 < beta -> 0 < C ->
  a * r - beta * xlog a p = beta * ln C * a - beta * xlog a (p * exp (r / beta) / C).
Proof. intros A P B K. unfold xlog. destruct (Req_EM_T a 0) as [->|Z]; [ring|].
  assert (Q : 0 < a) by lra. pose proof (exp_pos (r / beta)) as E.
  assert (M : 0 < p * exp (r / beta)) by (apply Rmult_lt_0_compat; assumption).
  rewrite !ln_div, ln_mult, ln_exp by (try assumption; apply Rdiv_lt_0_compat; assumption). field. lra. Qed.

Theorem policy : forall (n : nat) (reference reward : vector) (beta : R), 0 < beta ->
  distribution n reference -> (forall y, (y < n)%nat -> 0 < reference y) ->
  distribution n (best_policy n reference reward beta)
  /\ objective n reference reward beta (best_policy n reference reward beta)
     = beta * ln (constant n reference reward beta)
  /\ (forall p, distribution n p ->
      objective n reference reward beta p <= beta * ln (constant n reference reward beta)
      /\ (objective n reference reward beta p = beta * ln (constant n reference reward beta) ->
          forall y, (y < n)%nat -> p y = best_policy n reference reward beta y)).
Proof. intros n reference reward beta B [_ T] P. set (C := constant n reference reward beta).
  assert (N : (0 < n)%nat) by (destruct n; [simpl in T; lra|lia]).
  assert (K : 0 < C).
  { apply sum_pos; [exact N|]. intros y Y. apply Rmult_lt_0_compat; [apply P, Y|apply exp_pos]. }
  set (b := best_policy n reference reward beta).
  assert (b0 : forall y, (y < n)%nat -> 0 < b y).
  { intros y Y. unfold b, best_policy. fold C. apply Rdiv_lt_0_compat; [|exact K].
    apply Rmult_lt_0_compat; [apply P, Y|apply exp_pos]. }
  assert (b1 : sum n b = 1).
  { unfold b, best_policy. fold C. rewrite sum_div. change (C / C = 1). field. lra. }
  assert (V : forall p, distribution n p ->
    objective n reference reward beta p = beta * ln C - beta * divergence n p b).
  { intros p [p0 p1]. unfold objective, divergence. rewrite <- !sum_scal, <- sum_minus.
    rewrite (sum_ext n _ (fun y => beta * ln C * p y - beta * xlog (p y) (b y))).
    - rewrite sum_minus, !sum_scal, p1. ring.
    - intros y Y. unfold b, best_policy. fold C. apply one_text; auto. }
  assert (G : forall p, distribution n p -> 0 <= divergence n p b
    /\ (divergence n p b = 0 -> forall y, (y < n)%nat -> p y = b y)).
  { intros p [p0 p1].
    assert (S : divergence n p b = sum n (fun y => xlog (p y) (b y) - (p y - b y))).
    { rewrite sum_minus, sum_minus, p1, b1. unfold divergence. ring. }
    assert (X : forall y, (y < n)%nat -> 0 <= xlog (p y) (b y) - (p y - b y)).
    { intros y Y. pose proof (xlog_above (p y) (b y) (p0 y Y) (b0 y Y)). lra. }
    rewrite S. split; [apply sum_nonneg, X|]. intros Z y Y.
    apply (xlog_equal (p y) (b y) (p0 y Y) (b0 y Y)).
    pose proof (sum_term n _ y Y X) as L. cbv beta in L. lra. }
  assert (D : distribution n b) by (split; [intros y Y; left; apply b0, Y|exact b1]).
  split; [exact D|]. split.
  - rewrite (V b D). assert (Z : divergence n b b = 0).
    { unfold divergence. apply sum_zero. intros y Y. unfold xlog. destruct (Req_EM_T (b y) 0) as [|F]; [reflexivity|].
      replace (b y / b y) with 1 by (field; exact F). rewrite ln_1. ring. }
    rewrite Z. ring.
  - intros p Dp. destruct (G p Dp) as [G0 G1]. rewrite (V p Dp). split.
    + assert (0 <= beta * divergence n p b) by (apply Rmult_le_pos; lra). lra.
    + intros E y Y. apply G1; [|exact Y]. apply (Rmult_eq_reg_l beta); lra. Qed.
