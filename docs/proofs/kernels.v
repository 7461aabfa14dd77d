(* Attention as kernel smoothing. *)
From Attention Require Import Basics.

Definition distance2 (d : nat) (x y : vector) := sum d (fun c => (x c - y c) * (x c - y c)).
Lemma distance2_split d x y : distance2 d x y = dot d x x - 2 * dot d x y + dot d y y.
Proof. unfold distance2, dot. rewrite <- sum_scal, <- sum_minus, <- sum_plus. apply sum_ext. intros. ring. Qed.
(* The weights that a kernel gives: its values, divided by their sum *)
Definition smoothing (n : nat) (kernel : nat -> R) : vector := fun j => kernel j / sum n kernel.
Definition gaussian (d : nat) (h : R) (q k : vector) : R := exp (- distance2 d q k / (2 * (h * h))).

Theorem smoothing_by_attention : forall (n d : nat) (q : vector) (K : matrix) (h : R) (j : nat), (j < n)%nat -> (0 < d)%nat ->
  0 < h -> h * h = sqrt (INR d) ->                                 (* h is the fourth root of d *)
  let a := softmax n (fun j => dot d q (K j) / sqrt (INR d)) in
  (forall r, (forall j, (j < n)%nat -> sqrt (dot d (K j) (K j)) = r) -> a j = smoothing n (fun j => gaussian d h q (K j)) j)
  /\ a j = smoothing n (fun j => gaussian d h q (K j) * exp (dot d (K j) (K j) / (2 * sqrt (INR d)))) j.
Proof. intros n d q K h j J D H0 H. rewrite <- H. intro a.
  assert (N : (0 < n)%nat) by lia.
  set (b := exp (- dot d q q / (2 * (h * h)))). assert (B : 0 < b) by apply exp_pos.
  assert (G : forall j, gaussian d h q (K j) * exp (dot d (K j) (K j) / (2 * (h * h))) = b * exp (dot d q (K j) / (h * h))).
  { intro i. unfold gaussian, b. rewrite <- !exp_plus, distance2_split. f_equal. field. lra. }
  assert (S : a j = smoothing n (fun j => gaussian d h q (K j) * exp (dot d (K j) (K j) / (2 * (h * h)))) j).
  { unfold a, smoothing, softmax. rewrite G, (sum_ext n (fun j => gaussian d h q (K j) * exp (dot d (K j) (K j) / (2 * (h * h)))) (fun j => b * exp (dot d q (K j) / (h * h)))) by (intros; apply G).
    rewrite sum_scal. pose proof (exp_sum_pos n (fun j => dot d q (K j) / (h * h)) N). cbv beta in *. field. lra. }
  split; [|exact S]. intros r R. rewrite S. unfold smoothing.
  assert (Q : forall i, (i < n)%nat -> dot d (K i) (K i) = r * r).
  { intros i I. rewrite <- (R i I), sqrt_sqrt; [reflexivity|]. apply sum_nonneg. intros. apply Rle_0_sqr. }
  rewrite (sum_ext n _ (fun i => gaussian d h q (K i) * exp (r * r / (2 * (h * h))))) by (intros i I; rewrite (Q i I); reflexivity).
  rewrite sum_scal_r, (Q j J). pose proof (exp_pos (r * r / (2 * (h * h)))).
  assert (0 < sum n (fun i => gaussian d h q (K i))) by (apply sum_pos; [exact N|intros; apply exp_pos]). field. lra. Qed.

(* Observations y j = g (x j) + e j; at x the smoothed value is the weighted average of the y j *)
Theorem bias_variance : forall (P : space) (n : nat) (a gx : vector) (g0 sigma : R) (e : nat -> nat -> R),
  sum n a = 1 ->
  (forall j, (j < n)%nat -> E P (e j) = 0) ->
  (forall j m, (j < n)%nat -> (m < n)%nat -> E P (fun w => e j w * e m w) = if Nat.eqb j m then sigma * sigma else 0) ->
  E P (fun w => (sum n (fun j => a j * (gx j + e j w)) - g0) * (sum n (fun j => a j * (gx j + e j w)) - g0))
  = sum n (fun j => a j * (gx j - g0)) * sum n (fun j => a j * (gx j - g0)) + sigma * sigma * sum n (fun j => a j * a j).
Proof. intros P n a gx g0 sigma e A M C. set (b := sum n (fun j => a j * (gx j - g0))).
  assert (S : forall w, sum n (fun j => a j * (gx j + e j w)) - g0 = b + sum n (fun j => a j * e j w)).
  { intro w. unfold b.
    rewrite (sum_ext n (fun j => a j * (gx j + e j w)) (fun j => a j * (gx j - g0) + a j * e j w + a j * g0)) by (intros; ring).
    rewrite !sum_plus, sum_scal_r, A. ring. }
  rewrite (E_ext P _ (fun w => b * b + (2 * b) * sum n (fun j => a j * e j w)
     + sum n (fun j => sum n (fun m => a j * a m * (e j w * e m w))))).
  2:{ intro w. rewrite S. replace (sum n (fun j => sum n (fun m => a j * a m * (e j w * e m w))))
        with (sum n (fun j => a j * e j w) * sum n (fun j => a j * e j w)); [ring|].
      rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
  rewrite !E_plus, E_const, E_scal, !E_sum.
  rewrite (sum_zero n (fun i => E P (fun w => a i * e i w))) by (intros j J; rewrite E_scal, (M j J); ring).
  rewrite (sum_ext n _ (fun j => sigma * sigma * (a j * a j))); [rewrite sum_scal; ring|].
  intros j J. rewrite E_sum. rewrite (sum_ext n _ (fun m => if Nat.eqb j m then a j * a m * (sigma * sigma) else 0)).
  - rewrite (sum_one n j (fun m => a j * a m * (sigma * sigma)) J). ring.
  - intros m Hm. rewrite E_scal, (C j m J Hm). destruct (Nat.eqb j m); ring. Qed.
