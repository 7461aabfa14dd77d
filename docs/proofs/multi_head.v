(* Several heads: routes that add up, and what a single head cannot do. *)
From Attention Require Import Basics.

(* h heads whose outputs stand side by side: number r * dv + b of a row is number b of head r. *)
Definition joined (dv : nat) (O : nat -> matrix) : matrix :=
  fun i a => O (a / dv)%nat i (a mod dv)%nat.
Lemma sum_blocks h d f : sum (h * d) f = sum h (fun r => sum d (fun b => f (r * d + b)%nat)).
Proof. induction h; simpl; [reflexivity|]. rewrite Nat.add_comm, sum_app, IHh. reflexivity. Qed.

(* Of rank at most r: a product through r dimensions, so that r columns give all others *)
Definition rank_at_most (r : nat) (M : matrix) : Prop :=
  exists B C : matrix, forall i j, M i j = product r B C i j.
(* Head r: weights A r, values X WV r; M r is WV r times the rows of WO that belong to it. *)
Theorem sum_of_routes : forall (h n dm dv : nat) (A WV : nat -> matrix) (X WO : matrix) (bV bO : vector) (i c : nat),
  (0 < dv)%nat ->
  let WOr r := fun b c => WO (r * dv + b)%nat c in
  let M r := product dv (WV r) (WOr r) in
  let O r := product n (A r) (product dm X (WV r)) in
  let with_bias r := product n (A r) (fun j b => product dm X (WV r) j b + bV (r * dv + b)%nat) in
  product (h * dv) (joined dv O) WO i c = sum h (fun r => product n (A r) (product dm X (M r)) i c)
  /\ (forall r, rank_at_most dv (M r))
  /\ ((forall r, (r < h)%nat -> sum n (A r i) = 1) ->
      product (h * dv) (joined dv with_bias) WO i c + bO c
      = product (h * dv) (joined dv O) WO i c + (sum (h * dv) (fun a => bV a * WO a c) + bO c)).
Proof. intros h n dm dv A WV X WO bV bO i c D WOr M O wb.
  assert (J : forall (P : nat -> matrix), product (h * dv) (joined dv P) WO i c
    = sum h (fun r => sum dv (fun b => P r i b * WO (r * dv + b)%nat c))).
  { intro P. unfold product. rewrite sum_blocks. apply sum_ext. intros r _. apply sum_ext. intros b B.
    unfold joined. rewrite (Nat.add_comm (r * dv)), Nat.div_add, Nat.mod_add by lia.
    rewrite Nat.div_small, Nat.mod_small by exact B. reflexivity. }
  split; [|split].
  - rewrite J. apply sum_ext. intros r _. unfold O, M.
    transitivity (product dv (product n (A r) (product dm X (WV r))) (WOr r) i c); [reflexivity|].
    rewrite product_assoc. unfold product at 1 3. apply sum_ext. intros j _. f_equal. apply product_assoc.
  - intro r. exists (WV r), (WOr r). reflexivity.
  - intro S. rewrite !J, sum_blocks.
    rewrite (sum_ext h (fun r => sum dv (fun b => wb r i b * _))
      (fun r => sum dv (fun b => O r i b * WO (r * dv + b)%nat c) + sum dv (fun b => bV (r * dv + b)%nat * WO (r * dv + b)%nat c))).
    + rewrite sum_plus. ring.
    + intros r R. rewrite <- sum_plus. apply sum_ext. intros b _. unfold wb, O, product at 1 3.
      rewrite (sum_ext n _ (fun j => A r i j * product dm X (WV r) j b + A r i j * bV (r * dv + b)%nat)) by (intros; ring).
      rewrite sum_plus, sum_scal_r, (S r R). ring. Qed.

(* g groups of keys and values for h heads; WQ, WK, WV, WO, and their biases *)
Theorem parameter_count : forall d h g dk dv : nat,
  parameters [(d, (h * dk)%nat); (d, (g * dk)%nat); (d, (g * dv)%nat); ((h * dv)%nat, d)] = (d * (h + g) * (dk + dv))%nat
  /\ (g = h -> (h * dk = d)%nat -> (h * dv = d)%nat ->
      parameters [(d, (h * dk)%nat); (d, (g * dk)%nat); (d, (g * dv)%nat); ((h * dv)%nat, d)] = (4 * d * d)%nat
      /\ parameters [(d, (h * dk)%nat); (d, (g * dk)%nat); (d, (g * dv)%nat); ((h * dv)%nat, d);
                     (1, (h * dk))%nat; (1, (g * dk))%nat; (1, (g * dv))%nat; (1, d)%nat] = (4 * d * d + 4 * d)%nat).
Proof. intros d h g dk dv. unfold parameters. simpl. split; [nia|]. intros -> K V. rewrite K, V. split; lia. Qed.

(* One head: for each pair of speeds any weights of at least 0 that sum to 1, of the values of the
   tokens she, outran, he, which are affine in the token: b0 + beta * speed + what the word adds. *)
Theorem one_head : forall (a : R -> R -> vector) (b : vector) (beta : R),
  (forall s t j, 0 <= a s t j) -> (forall s t, sum 3 (a s t) = 1) ->
  ~ (forall s t, a s t 0%nat * (b 0%nat + beta * s) + a s t 1%nat * b 1%nat + a s t 2%nat * (b 2%nat + beta * t) = s - t).
Proof. intros a b beta P S H.
  set (m := Rmin (b 0%nat) (Rmin (b 1%nat) (b 2%nat))). set (M := Rmax (b 0%nat) (Rmax (b 1%nat) (b 2%nat))).
  assert (L : m <= b 0%nat /\ m <= b 1%nat /\ m <= b 2%nat /\ b 0%nat <= M /\ b 1%nat <= M /\ b 2%nat <= M).
  { unfold m, M. pose proof (Rmin_l (b 0%nat) (Rmin (b 1%nat) (b 2%nat))). pose proof (Rmin_r (b 0%nat) (Rmin (b 1%nat) (b 2%nat))).
    pose proof (Rmin_l (b 1%nat) (b 2%nat)). pose proof (Rmin_r (b 1%nat) (b 2%nat)).
    pose proof (Rmax_l (b 0%nat) (Rmax (b 1%nat) (b 2%nat))). pose proof (Rmax_r (b 0%nat) (Rmax (b 1%nat) (b 2%nat))).
    pose proof (Rmax_l (b 1%nat) (b 2%nat)). pose proof (Rmax_r (b 1%nat) (b 2%nat)). repeat split; lra. }
  (* with beta >= 0 the output stays above m while t grows, with beta <= 0 below M while s grows *)
  destruct (Rle_dec 0 beta) as [B|B].
  - set (t := Rabs m + 1). assert (T : 0 <= t /\ - t < m).
    { unfold t. pose proof (Rabs_pos m). pose proof (Rle_abs (- m)). rewrite Rabs_Ropp in H1. lra. }
    specialize (H 0 t). specialize (S 0 t). simpl in S.
    pose proof (P 0 t 0%nat). pose proof (P 0 t 1%nat). pose proof (P 0 t 2%nat).
    assert (0 <= beta * t) by nra.
    assert (a 0 t 0%nat * m <= a 0 t 0%nat * (b 0%nat + beta * 0)) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 1%nat * m <= a 0 t 1%nat * b 1%nat) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 2%nat * m <= a 0 t 2%nat * (b 2%nat + beta * t)) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 0%nat * m + a 0 t 1%nat * m + a 0 t 2%nat * m = m) by (rewrite <- (Rmult_1_l m) at 4; rewrite <- S; ring).
    lra.
  - set (s := Rabs M + 1). assert (T : 0 <= s /\ M < s).
    { unfold s. pose proof (Rabs_pos M). pose proof (Rle_abs M). lra. }
    specialize (H s 0). specialize (S s 0). simpl in S.
    pose proof (P s 0 0%nat). pose proof (P s 0 1%nat). pose proof (P s 0 2%nat).
    assert (beta * s <= 0) by nra.
    assert (a s 0 0%nat * (b 0%nat + beta * s) <= a s 0 0%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 1%nat * b 1%nat <= a s 0 1%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 2%nat * (b 2%nat + beta * 0) <= a s 0 2%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 0%nat * M + a s 0 1%nat * M + a s 0 2%nat * M = M) by (rewrite <- (Rmult_1_l M) at 4; rewrite <- S; ring).
    lra. Qed.
