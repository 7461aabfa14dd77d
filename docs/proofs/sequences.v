(* Weighted averages, and what content alone can tell. *)
From Coq Require Import FinFun.
From Attention Require Import Basics.

(* A window shows the tokens at some offsets, as many as it is wide; its layer has a matrix with a
   row for each number of the window and a column for each number of the output. *)
Theorem window : forall (n k d d_out : nat) (offsets : list Z), length offsets = k ->
  parameters [((k * d)%nat, d_out)] = (k * d * d_out)%nat
  /\ ((1 <= n)%nat ->
      (forall i j, (i < n)%nat -> (j < n)%nat -> In (Z.of_nat j - Z.of_nat i)%Z offsets) ->
      (k >= 2 * n - 1)%nat).
Proof. intros n k d d_out o L. split; [unfold parameters; simpl; lia|]. intros N H.
  set (all := map (fun m => (Z.of_nat m - Z.of_nat (n - 1))%Z) (seq 0 (2 * n - 1))).
  assert (length all = 2 * n - 1)%nat by (unfold all; rewrite map_length, seq_length; reflexivity).
  assert (length all <= length o)%nat; [|lia]. apply NoDup_incl_length.
  - apply Injective_map_NoDup; [intros x y; lia|apply seq_NoDup].
  - intros z I. apply in_map_iff in I. destruct I as (m & <- & M). apply in_seq in M.
    destruct (Nat.le_gt_cases (n - 1) m).
    + replace (Z.of_nat m - Z.of_nat (n - 1))%Z with (Z.of_nat (m - (n - 1)) - Z.of_nat 0)%Z by lia.
      apply H; lia.
    + replace (Z.of_nat m - Z.of_nat (n - 1))%Z with (Z.of_nat 0 - Z.of_nat (n - 1 - m))%Z by lia.
      apply H; lia. Qed.

(* A point lies in the convex hull of n points if it is an average of them. *)
Definition in_hull (n : nat) (V : matrix) (o : vector) : Prop := exists a : vector,
  (forall j, (j < n)%nat -> 0 <= a j) /\ sum n a = 1 /\ o = average n a V.
(* The second part is true of every point of the hull; j has the largest u . v j. *)
Theorem hull : forall (n d : nat) (a u : vector) (V : matrix),
  (forall j, (j < n)%nat -> 0 <= a j) -> sum n a = 1 ->
  in_hull n V (average n a V)
  /\ exists j, (j < n)%nat /\ (forall m, (m < n)%nat -> dot d u (V m) <= dot d u (V j))
      /\ dot d u (average n a V) <= dot d u (V j).
Proof. intros n d a u V A S. split; [exists a; auto|].
  destruct (largest_exists n (fun j => dot d u (V j))) as (j & J & H); [destruct n; [simpl in S; lra|lia]|].
  exists j. split; [exact J|]. split; [exact H|]. set (M := dot d u (V j)) in *. unfold dot, average.
  rewrite (sum_ext d _ (fun c => sum n (fun j => a j * (u c * V j c)))).
  2:{ intros c _. rewrite <- sum_scal. apply sum_ext. intros. ring. }
  rewrite sum_swap. rewrite <- (Rmult_1_l M), <- S, <- sum_scal_r. apply sum_le. intros m Hm.
  rewrite sum_scal. apply Rmult_le_compat_l; [apply A, Hm|apply (H m Hm)]. Qed.

(* Shares that depend on the two vectors alone *)
Theorem equal : forall (n : nat) (g : vector -> vector -> R) (X V : matrix) (i i' : nat),
  (forall x y, 0 < g x y) -> (i < n)%nat -> (i' < n)%nat -> X i = X i' ->
  average n (fun j => g (X i) (X j) / sum n (fun m => g (X i) (X m))) V
  = average n (fun j => g (X i') (X j) / sum n (fun m => g (X i') (X m))) V.
Proof. intros n g X V i i' _ _ _ H. rewrite H. reflexivity. Qed.
