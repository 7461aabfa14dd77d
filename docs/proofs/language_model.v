(* The loss of a language model, and what its training and its choices rest on. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics masking.

Definition with_logit (z : vector) (j : nat) (x : R) : vector := fun i => if Nat.eqb j i then x else z i.
(* Cross-entropy of the prediction with the right token y *)
Definition cross_entropy (n : nat) (z : vector) (y : nat) : R := - ln (softmax n z y).
Definition one_hot (y : nat) : vector := fun j => if Nat.eqb y j then 1 else 0.
Theorem gradient : forall (n : nat) (z : vector) (y : nat), (y < n)%nat ->
  (forall j, (j < n)%nat ->
    is_derive (fun x : R => cross_entropy n (with_logit z j x) y) (z j) (softmax n z j - one_hot y j)
    /\ -1 <= softmax n z j - one_hot y j <= 1)
  /\ sum n (fun j => softmax n z j - one_hot y j) = 0.
Proof. intros n z y Y. assert (N : (0 < n)%nat) by lia. split.
  - intros j J. split.
    + set (C := others n j (fun k => exp (z k))).
      assert (P : 0 <= C) by (apply sum_nonneg; intros k _; destruct (Nat.eqb j k); [lra|left; apply exp_pos]).
      assert (S : forall x, sum n (fun k => exp (with_logit z j x k)) = exp x + C).
      { intro x. rewrite (sum_others n j _ J). unfold with_logit at 1. rewrite Nat.eqb_refl. f_equal.
        apply sum_ext. intros k _. unfold with_logit. destruct (Nat.eqb j k); reflexivity. }
      assert (S' : sum n (fun k => exp (z k)) = exp (z j) + C) by (rewrite (sum_others n j _ J); reflexivity).
      apply (is_derive_ext (fun x => ln (exp x + C) - with_logit z j x y)).
      { intro x. unfold cross_entropy, softmax. match goal with |- @eq _ ?x ?y => change (@eq R x y) end. rewrite S. pose proof (exp_pos x).
        rewrite ln_div, ln_exp by (try apply exp_pos; lra). ring. }
      unfold softmax, one_hot, with_logit. rewrite S', (Nat.eqb_sym y j). pose proof (exp_pos (z j)).
      destruct (Nat.eqb j y).
      * auto_derive; [lra|]. match goal with |- @eq _ ?x ?y => change (@eq R x y) end. field. lra.
      * auto_derive; [lra|]. match goal with |- @eq _ ?x ?y => change (@eq R x y) end. field. lra.
    + pose proof (softmax_pos n z j N).
      assert (softmax n z j <= 1).
      { rewrite <- (softmax_sum n z N). apply sum_term; [exact J|]. intros; left; apply softmax_pos, N. }
      unfold one_hot. destruct (Nat.eqb y j); lra.
  - rewrite sum_minus, softmax_sum by exact N. unfold one_hot. rewrite (sum_one n y (fun _ => 1) Y). ring. Qed.

(* A model of one attention layer without positions: the logits after the last token, number n, are
   made from that token and from what the heads give, of which the keys are all tokens, itself among
   them. The score of a pair and the value of a token are any functions of their rows. *)
Definition reordered_before (n : nat) (p : nat -> nat) (X : matrix) : matrix :=
  fun i => if Nat.ltb i n then X (p i) else X i.
Lemma permutation_extended n p p' : permutation n p p' ->
  permutation (S n) (fun i => if Nat.ltb i n then p i else i) (fun i => if Nat.ltb i n then p' i else i).
Proof. intros P i I. destruct (Nat.ltb i n) eqn:L.
  - apply Nat.ltb_lt in L. destruct (P i L) as (A & B & C & D). apply Nat.ltb_lt in A, B. rewrite A, B.
    apply Nat.ltb_lt in A, B. repeat split; try lia; assumption.
  - rewrite L. lia. Qed.
Theorem one_layer : forall (n : nat) (score : nat -> vector -> vector -> R) (value : nat -> vector -> vector)
    (after : vector -> (nat -> vector) -> vector) (X : matrix) (p p' : nat -> nat), permutation n p p' ->
  let logits Y := after (Y n) (fun h => average (S n) (softmax (S n) (fun j => score h (Y n) (Y j))) (fun j => value h (Y j))) in
  logits (reordered_before n p X) = logits X.
Proof. intros n score value after X p p' P logits. unfold logits.
  assert (Ln : reordered_before n p X n = X n) by (unfold reordered_before; rewrite Nat.ltb_irrefl; reflexivity).
  rewrite Ln. f_equal. apply functional_extensionality. intro h. apply functional_extensionality. intro c.
  pose proof (permutation_extended n p p' P) as P'. set (q := fun i => if Nat.ltb i n then p i else i) in *.
  assert (R : reordered_before n p X = fun i => X (q i)).
  { apply functional_extensionality. intro i. unfold reordered_before, q. destruct (Nat.ltb i n); reflexivity. }
  unfold average, softmax. rewrite R.
  rewrite <- (sum_permuted (S n) q _ (fun j => exp (score h (X n) (X j))) P').
  rewrite <- (sum_permuted (S n) q _ (fun j => exp (score h (X n) (X j)) / _ * _) P').
  reflexivity. Qed.

(* Divergence of r from p over the n tokens where r puts weight; 0 ln 0 counts as 0 *)
Definition xlog (a b : R) : R := if Req_EM_T a 0 then 0 else a * ln (a / b).
Definition divergence (n : nat) (r p : vector) : R := sum n (fun j => xlog (r j) (p j)).
Definition distribution (n : nat) (p : vector) := (forall j, (j < n)%nat -> 0 <= p j) /\ sum n p = 1.
Lemma ln_below x : 0 < x -> ln x <= x - 1.
Proof. intro X. pose proof (exp_ineq1_le (ln x)) as H. rewrite exp_ln in H by exact X. lra. Qed.
Lemma xlog_above a b : 0 <= a -> 0 < b -> a - b <= xlog a b.
Proof. intros A B. unfold xlog. destruct (Req_EM_T a 0) as [->|Z]; [lra|].
  assert (Q : 0 < a) by lra. assert (I : 0 < b / a) by (apply Rdiv_lt_0_compat; lra).
  pose proof (ln_below _ I) as H. replace (a / b) with (/ (b / a)) by (field; lra). rewrite ln_Rinv by exact I.
  assert (a * ln (b / a) <= a * (b / a - 1)) by (apply Rmult_le_compat_l; lra).
  replace (a * (b / a - 1)) with (b - a) in H0 by (field; lra). lra. Qed.

(* S is a set of tokens of positive probability mass; r is a distribution on it. *)
Definition mass (n : nat) (S : nat -> bool) (p : vector) : R := sum n (fun j => if S j then p j else 0).
Definition cut_to (n : nat) (S : nat -> bool) (p : vector) : vector := fun j => if S j then p j / mass n S p else 0.
Lemma xlog_equal a b : 0 <= a -> 0 < b -> xlog a b <= a - b -> a = b.
Proof. intros A B H. unfold xlog in H. destruct (Req_EM_T a 0) as [->|Z]; [lra|].
  destruct (Req_dec a b) as [E|N]; [exact E|exfalso]. assert (Q : 0 < a) by lra.
  assert (I : 0 < b / a) by (apply Rdiv_lt_0_compat; lra).
  replace (a / b) with (/ (b / a)) in H by (field; lra). rewrite ln_Rinv in H by exact I.
  assert (L : ln (b / a) <> 0).
  { intro L. apply N. apply (f_equal exp) in L. rewrite exp_ln, exp_0 in L by exact I.
    apply (Rmult_eq_reg_r (/ a)); [|apply Rinv_neq_0_compat, Z]. rewrite Rinv_r by exact Z. symmetry. exact L. }
  pose proof (exp_ineq1 _ L) as X. rewrite exp_ln in X by exact I.
  assert (a * (1 + ln (b / a)) < a * (b / a)) as Y by (apply Rmult_lt_compat_l; assumption).
  replace (a * (b / a)) with b in Y by (field; exact Z). lra. Qed.
(* r is any other distribution on S; where p is 0, r must be 0 too, or its divergence is infinite. *)
Theorem cut : forall (n : nat) (S : nat -> bool) (p : vector), distribution n p -> 0 < mass n S p ->
  distribution n (cut_to n S p)
  /\ divergence n (cut_to n S p) p = - ln (mass n S p)
  /\ (forall r, distribution n r -> (forall j, (j < n)%nat -> S j = false \/ p j = 0 -> r j = 0) ->
      divergence n (cut_to n S p) p <= divergence n r p
      /\ (divergence n r p = divergence n (cut_to n S p) p -> forall j, (j < n)%nat -> r j = cut_to n S p j))
  /\ (forall c, 0 < c -> c <= mass n S p -> - ln (mass n S p) <= - ln c).
Proof. intros n S p [P T] M.
  assert (C0 : forall j, (j < n)%nat -> 0 <= cut_to n S p j).
  { intros j J. unfold cut_to. destruct (S j); [|lra]. apply Rmult_le_pos; [apply P, J|left; apply Rinv_0_lt_compat, M]. }
  assert (C1 : sum n (cut_to n S p) = 1).
  { unfold cut_to. rewrite (sum_ext n _ (fun j => (if S j then p j else 0) / mass n S p)).
    - rewrite sum_div. change (mass n S p / mass n S p = 1). field. lra.
    - intros j _. destruct (S j); [reflexivity|unfold Rdiv; ring]. }
  assert (V : divergence n (cut_to n S p) p = - ln (mass n S p)).
  { unfold divergence. rewrite (sum_ext n _ (fun j => cut_to n S p j * - ln (mass n S p))).
    - rewrite sum_scal_r, C1. ring.
    - intros j J. unfold xlog. destruct (Req_EM_T (cut_to n S p j) 0) as [->|Z]; [ring|].
      f_equal. unfold cut_to in *. destruct (S j) eqn:Sj; [|congruence].
      assert (p j <> 0) by (intro E; apply Z; rewrite E; unfold Rdiv; ring).
      replace (p j / mass n S p / p j) with (/ mass n S p) by (field; lra). apply ln_Rinv, M. }
  (* token by token: the divergence from p is that from the cut, less ln of the mass *)
  assert (W : forall r, distribution n r -> (forall j, (j < n)%nat -> S j = false \/ p j = 0 -> r j = 0) ->
    forall j, (j < n)%nat -> xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j) >= 0
      /\ (xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j) <= 0 -> r j = cut_to n S p j)).
  { intros r [Rp Rt] Out j J. specialize (Rp j J).
    assert (Zero : r j = 0 -> cut_to n S p j = 0 ->
      xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j) = 0).
    { intros -> ->. unfold xlog. destruct (Req_EM_T 0 0); [ring|congruence]. }
    destruct (S j) eqn:Sj.
    - destruct (Req_dec (p j) 0) as [Pz|Pz].
      + assert (R0 : r j = 0) by (apply Out; auto).
        assert (Cz : cut_to n S p j = 0) by (unfold cut_to; rewrite Sj, Pz; unfold Rdiv; ring).
        rewrite (Zero R0 Cz), R0, Cz. lra.
      + assert (Pp : 0 < p j) by (specialize (P j J); lra).
        assert (Cp : 0 < cut_to n S p j) by (unfold cut_to; rewrite Sj; apply Rdiv_lt_0_compat; assumption).
        assert (X : xlog (r j) (cut_to n S p j) = xlog (r j) (p j) + r j * ln (mass n S p)).
        { unfold xlog. destruct (Req_EM_T (r j) 0) as [Z|Z]; [rewrite Z; ring|].
          unfold cut_to. rewrite Sj. replace (r j / (p j / mass n S p)) with (r j / p j * mass n S p) by (field; lra).
          rewrite ln_mult; [ring|apply Rdiv_lt_0_compat; lra|exact M]. }
        rewrite <- X. pose proof (xlog_above _ _ Rp Cp). split; [lra|]. intro L. apply xlog_equal; lra.
    - assert (R0 : r j = 0) by (apply Out; auto).
      assert (Cz : cut_to n S p j = 0) by (unfold cut_to; rewrite Sj; reflexivity).
      rewrite (Zero R0 Cz), R0, Cz. lra. }
  split; [split; assumption|]. split; [exact V|]. split.
  - intros r D Out. specialize (W r D Out). destruct D as [Rp Rt]. rewrite V.
    assert (Tot : sum n (fun j => xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j))
      = divergence n r p + ln (mass n S p)).
    { rewrite sum_minus, sum_plus, sum_minus, sum_scal_r, Rt, C1. unfold divergence. ring. }
    split.
    + assert (0 <= divergence n r p + ln (mass n S p)); [|lra]. rewrite <- Tot. apply sum_nonneg.
      intros j J. apply Rge_le, W, J.
    + intros Eq j J. apply (W j J).
      apply Rle_trans with (sum n (fun j => xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j))); [|lra].
      apply (sum_term n (fun j => xlog (r j) (p j) + r j * ln (mass n S p) - (r j - cut_to n S p j)) j J).
      intros m Hm. apply Rge_le, W, Hm.
  - intros c C L. apply Ropp_le_contravar. destruct L as [L| ->]; [left; apply ln_increasing; assumption|lra]. Qed.

(* B beginnings of a text; beginning b occurs with probability mu b, then the source gives the next
   token the probabilities pi b, the model the probabilities p b, none of them 0. *)
Definition expected_loss (B n : nat) (mu : vector) (pi p : matrix) : R :=
  sum B (fun b => mu b * sum n (fun j => pi b j * - ln (p b j))).
Definition source_entropy (B n : nat) (mu : vector) (pi : matrix) : R :=
  sum B (fun b => mu b * - sum n (fun j => if Req_EM_T (pi b j) 0 then 0 else pi b j * ln (pi b j))).
Lemma divergence_floor n r p : distribution n r -> distribution n p -> (forall j, (j < n)%nat -> 0 < p j) ->
  0 <= divergence n r p /\ (divergence n r p <= 0 -> forall j, (j < n)%nat -> r j = p j).
Proof. intros [R0 R1] [_ P1] Pp.
  assert (T : sum n (fun j => xlog (r j) (p j) - (r j - p j)) = divergence n r p).
  { rewrite !sum_minus, R1, P1. unfold divergence. ring. }
  assert (G : forall j, (j < n)%nat -> 0 <= xlog (r j) (p j) - (r j - p j)).
  { intros j J. pose proof (xlog_above _ _ (R0 j J) (Pp j J)). lra. }
  rewrite <- T. split; [apply sum_nonneg, G|]. intros L j J. apply xlog_equal; [apply R0, J|apply Pp, J|].
  pose proof (sum_term n (fun j => xlog (r j) (p j) - (r j - p j)) j J G) as H. cbv beta in H. lra. Qed.

Theorem floor : forall (B n : nat) (mu : vector) (pi p : matrix), distribution B mu ->
  (forall b, (b < B)%nat -> distribution n (pi b) /\ distribution n (p b)) ->
  (forall b j, (b < B)%nat -> (j < n)%nat -> 0 < mu b -> p b j = 0 -> pi b j = 0) ->
  source_entropy B n mu pi <= expected_loss B n mu pi p
  /\ (expected_loss B n mu pi p = source_entropy B n mu pi <->
      forall b j, (b < B)%nat -> (j < n)%nat -> 0 < mu b -> pi b j = p b j)
  /\ expected_loss B n mu pi p - source_entropy B n mu pi = sum B (fun b => mu b * divergence n (pi b) (p b)).
Proof. intros B n mu pi p [M0 M1] D Z.
  assert (Diff : expected_loss B n mu pi p - source_entropy B n mu pi = sum B (fun b => mu b * divergence n (pi b) (p b))).
  { unfold expected_loss, source_entropy, divergence. rewrite <- sum_minus. apply sum_ext. intros b Hb.
    destruct (Rle_lt_or_eq_dec 0 (mu b) (M0 b Hb)) as [Mb|<-]; [|ring].
    rewrite <- Rmult_minus_distr_l. f_equal. unfold Rminus. rewrite Ropp_involutive, <- sum_plus. apply sum_ext. intros j J.
    unfold xlog. destruct (Req_EM_T (pi b j) 0) as [->|Q]; [ring|].
    destruct (D b Hb) as [[Pi0 _] [P0 _]]. pose proof (Pi0 j J). pose proof (P0 j J).
    assert (p b j <> 0) by (intro E0; apply Q, (Z b j Hb J Mb E0)). rewrite ln_div; [ring|lra|lra]. }
  assert (F : forall b, (b < B)%nat -> 0 < mu b -> 0 <= divergence n (pi b) (p b)
     /\ (divergence n (pi b) (p b) <= 0 -> forall j, (j < n)%nat -> pi b j = p b j)).
  { intros b Hb Mb. destruct (D b Hb) as [[R0 R1] [P0 P1]].
    assert (T : sum n (fun j => xlog (pi b j) (p b j) - (pi b j - p b j)) = divergence n (pi b) (p b)).
    { rewrite !sum_minus, R1, P1. unfold divergence. ring. }
    assert (G : forall j, (j < n)%nat -> 0 <= xlog (pi b j) (p b j) - (pi b j - p b j)).
    { intros j J. destruct (Rle_lt_or_eq_dec 0 (p b j) (P0 j J)) as [L|L].
      - pose proof (xlog_above _ _ (R0 j J) L). lra.
      - rewrite (Z b j Hb J Mb (eq_sym L)), <- L. unfold xlog. destruct (Req_EM_T 0 0); lra. }
    rewrite <- T. split; [apply sum_nonneg, G|]. intros L j J.
    pose proof (sum_term n (fun j => xlog (pi b j) (p b j) - (pi b j - p b j)) j J G) as H. cbv beta in H.
    destruct (Rle_lt_or_eq_dec 0 (p b j) (P0 j J)) as [L0|L0].
    - apply xlog_equal; [apply R0, J|exact L0|lra].
    - rewrite <- L0. apply (Z b j Hb J Mb). lra. }
  assert (T : forall b, (b < B)%nat -> 0 <= mu b * divergence n (pi b) (p b)).
  { intros b Hb. destruct (Rle_lt_or_eq_dec 0 (mu b) (M0 b Hb)) as [Mb|<-]; [|lra].
    apply Rmult_le_pos; [lra|]. apply F; assumption. }
  assert (Pos : 0 <= sum B (fun b => mu b * divergence n (pi b) (p b))) by (apply sum_nonneg, T).
  split; [lra|]. split; [|exact Diff]. split.
  - intros E1 b j Hb J Mb. apply (proj2 (F b Hb Mb)); [|exact J].
    pose proof (sum_term B (fun b => mu b * divergence n (pi b) (p b)) b Hb T) as H. cbv beta in H.
    rewrite <- Diff, E1, Rminus_diag_eq in H by reflexivity. apply (Rmult_le_reg_l (mu b)); lra.
  - intro H. assert (sum B (fun b => mu b * divergence n (pi b) (p b)) = 0); [|lra].
    apply sum_zero. intros b Hb. destruct (Rle_lt_or_eq_dec 0 (mu b) (M0 b Hb)) as [Mb|<-]; [|ring].
    unfold divergence. rewrite sum_zero; [ring|]. intros j J. unfold xlog. rewrite (H b j Hb J Mb).
    destruct (Req_EM_T (p b j) 0); [reflexivity|]. replace (p b j / p b j) with 1 by (field; assumption). rewrite ln_1. ring. Qed.

(* A block of a decoder over n tokens; it is causal if row i depends on rows up to i alone, however
   many tokens follow. Theta holds all parameters; the embedding and the head act on each row. *)
Definition block := nat -> matrix -> matrix.
Definition causal_block (b : block) : Prop := forall n m X Y i, (i < n)%nat -> (i < m)%nat ->
  (forall j, (j <= i)%nat -> X j = Y j) -> b n X i = b m Y i.
Record decoder := { embedding : vector -> nat -> nat -> vector; blocks : vector -> list block; head : vector -> vector -> vector }.
Definition stream (m : decoder) (theta : vector) (n : nat) (text : nat -> nat) : matrix :=
  fold_left (fun X b => b n X) (blocks m theta) (fun i => embedding m theta i (text i)).
(* The loss at place i of a pass over the first n tokens: the next token is the target *)
Definition loss_at (m : decoder) (vocabulary : nat) (text : nat -> nat) (n i : nat) (theta : vector) : R :=
  cross_entropy vocabulary (head m theta (stream m theta n text i)) (text (S i)).
Definition with_parameter (theta : vector) (k : nat) (x : R) : vector := fun l => if Nat.eqb k l then x else theta l.

Lemma masked_layer_is_causal_block dm d WQ WK WV : causal_block (fun n X => layer n dm d causal WQ WK WV X).
Proof. intros n m X Y i N M H.
  pose proof (proj1 (no_leak n dm d WQ WK WV) X Y i H) as E1. rewrite E1.
  apply functional_extensionality. intro c. destruct (prefix n dm d WQ WK WV Y i c N) as [-> _].
  destruct (prefix m dm d WQ WK WV Y i c M) as [-> _]. reflexivity. Qed.
Lemma causal_stream bs : Forall causal_block bs -> causal_block (fun n X => fold_left (fun X b => b n X) bs X).
Proof. induction bs as [|b bs IH]; intros F n m X Y i N M H; simpl; [apply H; lia|].
  apply (IH (Forall_inv_tail F)); [exact N|exact M|]. intros j J. apply (Forall_inv F); [lia|lia|].
  intros l L. apply H. lia. Qed.

(* The pass over n - 1 inputs against the pass over the beginning that ends at place i *)
Theorem at_once : forall (m : decoder) (vocabulary : nat) (text : nat -> nat) (n i : nat),
  (forall theta, Forall causal_block (blocks m theta)) -> (i < n - 1)%nat ->
  (forall theta, loss_at m vocabulary text (n - 1) i theta = loss_at m vocabulary text (S i) i theta)
  /\ (forall (theta : vector) (k : nat) (slope : R),
      is_derive (fun x : R => loss_at m vocabulary text (n - 1) i (with_parameter theta k x)) (theta k) slope
      <-> is_derive (fun x : R => loss_at m vocabulary text (S i) i (with_parameter theta k x)) (theta k) slope)
  /\ (forall dm d WQ WK WV, causal_block (fun n X => layer n dm d causal WQ WK WV X)).
Proof. intros m v text n i F I.
  assert (L : forall theta, loss_at m v text (n - 1) i theta = loss_at m v text (S i) i theta).
  { intro theta. unfold loss_at, stream. do 2 f_equal. apply (causal_stream _ (F theta)); [lia|lia|reflexivity]. }
  split; [exact L|]. split; [|apply masked_layer_is_causal_block].
  intros theta k slope. split; intro H; (eapply is_derive_ext; [|exact H]); intro x; [|symmetry]; apply L. Qed.
