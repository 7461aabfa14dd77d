(* Linear attention: a state in place of all pairs, and the delta rule. *)
From Attention Require Import Basics.

(* Linear attention: the state S of row i holds the sums of phi(k) times v, and z those of phi(k). *)
Fixpoint state (i : nat) (phi_k V : matrix) : matrix :=
  match i with
  | O => fun r c => phi_k 0%nat r * V 0%nat c
  | S i => fun r c => state i phi_k V r c + phi_k (S i) r * V (S i) c
  end.
Fixpoint divisor (i : nat) (phi_k : matrix) : vector :=
  match i with O => phi_k 0%nat | S i => fun r => divisor i phi_k r + phi_k (S i) r end.
(* Multiplications and additions of a product of a by b and b by c numbers *)
Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.
Theorem linear : forall (f : nat) (phi_q phi_k V : matrix) (i c n dv : nat),
  (0 < f)%nat -> (forall j r, 0 < phi_q j r) -> (forall j r, 0 < phi_k j r) ->
  let w j := dot f (phi_q i) (phi_k j) in
  average (S i) (fun j => w j / sum (S i) w) V c
  = sum f (fun r => phi_q i r * state i phi_k V r c) / dot f (phi_q i) (divisor i phi_k)
  /\ sum (S i) (fun j => w j / sum (S i) w) = 1
  /\ (product_operations n f n + product_operations n n dv = 2 * n * n * (f + dv))%nat
  /\ (product_operations f n dv + product_operations n f dv = 4 * n * f * dv)%nat.
Proof. intros f q k V i c n dv F Pq Pk w.
  assert (P : 0 < sum (S i) w).
  { apply sum_pos; [lia|]. intros j _. apply sum_pos; [exact F|]. intros r _. apply Rmult_lt_0_compat; auto. }
  assert (St : forall r, state i k V r c = sum (S i) (fun j => k j r * V j c)).
  { intro r. clear P w. induction i as [|i IH]; [simpl; ring|]. cbn [state]. rewrite IH. reflexivity. }
  assert (Di : forall r, divisor i k r = sum (S i) (fun j => k j r)).
  { intro r. clear P w St. induction i as [|i IH]; [simpl; ring|]. cbn [divisor]. rewrite IH. reflexivity. }
  assert (N : sum f (fun r => q i r * state i k V r c) = sum (S i) (fun j => w j * V j c)).
  { rewrite (sum_ext f _ (fun r => sum (S i) (fun j => q i r * k j r * V j c))).
    - rewrite sum_swap. apply sum_ext. intros j _. rewrite sum_scal_r. reflexivity.
    - intros r _. rewrite St, <- sum_scal. apply sum_ext. intros. ring. }
  assert (Dn : dot f (q i) (divisor i k) = sum (S i) w).
  { unfold w, dot. rewrite sum_swap. apply sum_ext. intros r _. rewrite Di, <- sum_scal. reflexivity. }
  repeat split.
  - rewrite N, Dn. unfold average. rewrite <- sum_div. apply sum_ext. intros. field. lra.
  - rewrite sum_div. field. lra.
  - unfold product_operations. nia.
  - unfold product_operations. nia. Qed.

(* The delta rule: S_i = S_(i-1) + beta k (v - k S_(i-1)), as a sum of outer products *)
Definition read (d : nat) (q : vector) (M : matrix) : vector := fun c => sum d (fun a => q a * M a c).
Definition write (d : nat) (beta : R) (k v : vector) (M : matrix) : matrix :=
  fun a c => M a c + beta * k a * (v c - read d k M c).
Theorem delta : forall (d : nat) (k v : vector) (M : matrix) (c : nat),
  (dot d k k = 1 -> read d k (write d 1 k v M) c = v c)
  /\ (forall (beta : R) (q : vector), dot d q k = 0 -> read d q (write d beta k v M) c = read d q M c).
Proof. intros d k v M c.
  assert (R : forall beta q, read d q (write d beta k v M) c = read d q M c + dot d q k * (beta * (v c - read d k M c))).
  { intros. change (read d q M c) with (sum d (fun a => q a * M a c)). unfold read at 1, write, dot. rewrite <- sum_scal_r, <- sum_plus. apply sum_ext. intros. ring. }
  split.
  - intro H. rewrite R, H. ring.
  - intros beta q H. rewrite R, H. ring. Qed.
