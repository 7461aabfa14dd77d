(* The backward pass of attention, and where training starts. *)
From Attention Require Import Basics.

(* Row i of dS, from the weights a of the row and the derivatives g of the loss in them *)
Definition score_gradient (n : nat) (a g : vector) : vector := fun m => a m * (g m - sum n (fun j => a j * g j)).
Theorem saturated : forall (n i : nat) (a g : vector) (epsilon low high : R), (i < n)%nat ->
  (forall j, (j < n)%nat -> 0 <= a j) -> sum n a = 1 -> a i = 1 - epsilon ->
  (forall j, (j < n)%nat -> low <= g j <= high) ->
  sum n (fun m => Rabs (score_gradient n a g m)) <= 2 * epsilon * (high - low).
Proof. intros n i a g eps low high I P S A B. set (mu := sum n (fun j => a j * g j)).
  assert (Bm : low <= mu <= high).
  { unfold mu. split.
    - rewrite <- (Rmult_1_l low), <- S, <- sum_scal_r. apply sum_le. intros j J. apply Rmult_le_compat_l; [apply P, J|apply B, J].
    - rewrite <- (Rmult_1_l high), <- S, <- sum_scal_r. apply sum_le. intros j J. apply Rmult_le_compat_l; [apply P, J|apply B, J]. }
  assert (O : others n i a = eps) by (pose proof (sum_others n i a I); lra).
  assert (E0 : 0 <= eps).
  { rewrite <- O. apply sum_nonneg. intros j J. destruct (Nat.eqb i j); [lra|apply P, J]. }
  (* what is not on the leader is at most eps times the range, and so is the leader's own entry *)
  assert (R1 : others n i (fun m => Rabs (score_gradient n a g m)) <= eps * (high - low)).
  { rewrite <- O. unfold others. rewrite <- sum_scal_r. apply sum_le. intros j J. destruct (Nat.eqb i j); [lra|].
    unfold score_gradient. fold mu. rewrite Rabs_mult, (Rabs_pos_eq (a j)) by (apply P, J).
    apply Rmult_le_compat_l; [apply P, J|]. destruct (B j J). apply Rabs_le. lra. }
  assert (Z : sum n (score_gradient n a g) = 0).
  { unfold score_gradient. fold mu. rewrite (sum_ext n _ (fun m => a m * g m - a m * mu)) by (intros; ring).
    rewrite sum_minus, sum_scal_r, S. fold mu. ring. }
  assert (R2 : Rabs (score_gradient n a g i) <= others n i (fun m => Rabs (score_gradient n a g m))).
  { rewrite (sum_others n i _ I) in Z. replace (score_gradient n a g i) with (- others n i (score_gradient n a g)) by lra.
    rewrite Rabs_Ropp. unfold others. apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros j _.
    destruct (Nat.eqb i j); [rewrite Rabs_R0|]; lra. }
  rewrite (sum_others n i _ I). lra. Qed.
