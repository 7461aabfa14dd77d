(* Attention in pieces: blocks that merge. *)
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
