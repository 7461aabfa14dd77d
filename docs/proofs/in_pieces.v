(* Attention in pieces: blocks that merge, a state in place of all pairs, the delta rule. *)
From Attention Require Import Basics.

(* A piece: largest score m, sum l of exp (s - m), average o of the values in each component. For a
   piece without a finite score l is 0; pieces here have one. *)
Record piece := { top : R; mass : R; mean : vector }.
Definition merge (A B : piece) : piece :=
  let m := Rmax (top A) (top B) in
  let a := exp (top A - m) * mass A in let b := exp (top B - m) * mass B in
  {| top := m; mass := a + b; mean := fun c => (a * mean A c + b * mean B c) / (a + b) |}.
(* What attention to the keys of a list of (score, value) is; a key that is hidden is not in it. *)
Fixpoint largest (s : R) (l : list (R * vector)) : R :=
  match l with [] => s | x :: r => Rmax s (largest (fst x) r) end.
Definition total (l : list (R * vector)) (f : R * vector -> R) : R := fold_right (fun x t => f x + t) 0 l.
Definition attend (x : R * vector) (r : list (R * vector)) : piece :=
  let l := x :: r in let m := largest (fst x) r in
  {| top := m; mass := total l (fun y => exp (fst y - m));
     mean := fun c => total l (fun y => exp (fst y) * snd y c) / total l (fun y => exp (fst y)) |}.

Lemma largest_app s l x r : largest s (l ++ x :: r) = Rmax (largest s l) (largest (fst x) r).
Proof. revert s. induction l as [|y l IH]; intro s; simpl; [reflexivity|].
  rewrite IH, Rmax_assoc. reflexivity. Qed.
Lemma total_app l r f : total (l ++ r) f = total l f + total r f.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma total_scal l f c : total l (fun y => f y * c) = total l f * c.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma total_shift l m : total l (fun y => exp (fst y - m)) = total l (fun y => exp (fst y)) * exp (- m).
Proof. rewrite <- total_scal. f_equal. apply functional_extensionality. intro y. unfold Rminus. apply exp_plus. Qed.
Lemma total_pos x r : 0 < total (x :: r) (fun y => exp (fst y)).
Proof. simpl. assert (0 <= total r (fun y => exp (fst y))).
  { induction r; simpl; [lra|]. pose proof (exp_pos (fst a)). lra. }
  pose proof (exp_pos (fst x)). lra. Qed.

Lemma piece_eq A B : top A = top B -> mass A = mass B -> (forall c, mean A c = mean B c) -> A = B.
Proof. destruct A, B. simpl. intros -> -> H. f_equal. apply functional_extensionality, H. Qed.

Theorem merge_pieces : forall (x y : R * vector) (l r : list (R * vector)) (A B C : piece),
  0 < mass A -> 0 < mass B -> 0 < mass C ->
  merge (attend x l) (attend y r) = attend x (l ++ y :: r)
  /\ merge A B = merge B A
  /\ merge (merge A B) C = merge A (merge B C).
Proof. intros x y l r A B C PA PB PC. repeat split.
  - assert (M : top (attend x (l ++ y :: r)) = Rmax (top (attend x l)) (top (attend y r))) by apply largest_app.
    assert (E1 : forall t m a, exp (a - m) * (t * exp (- a)) = t * exp (- m)).
    { intros. replace (- m) with ((a - m) + - a) by ring. rewrite exp_plus. ring. }
    pose proof (total_pos x l) as P1. pose proof (total_pos y r) as P2.
    apply piece_eq; [symmetry; exact M| |intro c]; unfold merge, attend in *; cbn [top mass mean] in *.
    + rewrite M. rewrite app_comm_cons, total_app, !total_shift, !E1. reflexivity.
    + rewrite app_comm_cons, !total_app, !total_shift, !E1.
      pose proof (exp_pos (- Rmax (largest (fst x) l) (largest (fst y) r))) as Pe.
      pose proof (Rmult_lt_0_compat _ _ P1 Pe). pose proof (Rmult_lt_0_compat _ _ P2 Pe).
      field. repeat split; lra.
  - apply piece_eq; [| |intro c]; unfold merge; cbn [top mass mean]; rewrite (Rmax_comm (top B)).
    + reflexivity.
    + ring.
    + f_equal; ring.
  - assert (E2 : forall a m n t, exp (m - n) * (exp (a - m) * t) = exp (a - n) * t).
    { intros. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. }
    apply piece_eq; [| |intro c]; unfold merge; cbn [top mass mean].
    + symmetry. apply Rmax_assoc.
    + rewrite Rmax_assoc, !Rmult_plus_distr_l, !E2. ring.
    + rewrite Rmax_assoc. set (n := Rmax (Rmax (top A) (top B)) (top C)).
      rewrite !Rmult_plus_distr_l, !E2.
      set (m := Rmax (top A) (top B)). set (k := Rmax (top B) (top C)).
      assert (Q : forall a m, exp (a - m) = exp (a - n) * exp (n - m)).
      { intros. rewrite <- exp_plus. f_equal. ring. }
      rewrite (Q (top A) m), (Q (top B) m), (Q (top B) k), (Q (top C) k).
      pose proof (exp_pos (n - m)). pose proof (exp_pos (n - k)).
      assert (0 < exp (top A - n) * mass A) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top B - n) * mass B) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top C - n) * mass C) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top A - n) * exp (n - m) * mass A + exp (top B - n) * exp (n - m) * mass B).
      { replace (exp (top A - n) * exp (n - m) * mass A + exp (top B - n) * exp (n - m) * mass B)
          with (exp (n - m) * (exp (top A - n) * mass A + exp (top B - n) * mass B)) by ring.
        apply Rmult_lt_0_compat; lra. }
      assert (0 < exp (top B - n) * exp (n - k) * mass B + exp (top C - n) * exp (n - k) * mass C).
      { replace (exp (top B - n) * exp (n - k) * mass B + exp (top C - n) * exp (n - k) * mass C)
          with (exp (n - k) * (exp (top B - n) * mass B + exp (top C - n) * mass C)) by ring.
        apply Rmult_lt_0_compat; lra. }
      field. repeat split; lra. Qed.

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
