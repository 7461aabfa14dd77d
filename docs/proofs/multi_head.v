(* Several heads: routes that add up, and what a single head cannot do. *)
From Attention Require Import Basics score_functions.

(* h heads whose outputs stand side by side: number r * dv + b of a row is number b of head r. *)
Definition joined (dv : nat) (O : nat -> matrix) : matrix :=
  fun i a => O (a / dv)%nat i (a mod dv)%nat.

(* Head r: weights A r, values X WV r; M r is WV r times the rows of WO that belong to it. *)
Theorem sum_of_routes : forall (h n dm dv dout : nat) (A WV : nat -> matrix) (X WO : matrix) (bV bO : vector) (i c : nat),
  (0 < dv)%nat ->
  let WOr r := fun b c => WO (r * dv + b)%nat c in
  let M r := product dv (WV r) (WOr r) in
  let O r := product n (A r) (product dm X (WV r)) in
  let with_bias r := product n (A r) (fun j b => product dm X (WV r) j b + bV (r * dv + b)%nat) in
  product (h * dv) (joined dv O) WO i c = sum h (fun r => product n (A r) (product dm X (M r)) i c)
  /\ (forall r, rank_at_most dm dout dv (M r))
  /\ ((forall r, (r < h)%nat -> sum n (A r i) = 1) ->
      product (h * dv) (joined dv with_bias) WO i c + bO c
      = product (h * dv) (joined dv O) WO i c + (sum (h * dv) (fun a => bV a * WO a c) + bO c)).
Proof. intros h n dm dv dout A WV X WO bV bO i c D WOr M O wb.
  assert (J : forall (P : nat -> matrix), product (h * dv) (joined dv P) WO i c
    = sum h (fun r => sum dv (fun b => P r i b * WO (r * dv + b)%nat c))).
  { intro P. unfold product. rewrite sum_blocks. apply sum_ext. intros r _. apply sum_ext. intros b B.
    unfold joined. rewrite (Nat.add_comm (r * dv)), Nat.div_add, Nat.mod_add by lia.
    rewrite Nat.div_small, Nat.mod_small by exact B. reflexivity. }
  split; [|split].
  - rewrite J. apply sum_ext. intros r _. unfold O, M.
    transitivity (product dv (product n (A r) (product dm X (WV r))) (WOr r) i c); [reflexivity|].
    rewrite product_assoc. unfold product at 1 3. apply sum_ext. intros j _. f_equal. apply product_assoc.
  - intro r. apply (product_rank dm dout dv (WV r) (WOr r)). reflexivity.
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
   tokens she, outran, him, which are affine in the token: beta * speed + what the word adds, and
   the output's bias, which every value may carry since the weights sum to 1. *)
Theorem one_head : forall (a : R -> R -> vector) (b : vector) (beta : R),
  (forall s t j, 0 <= a s t j) -> (forall s t, sum 3 (a s t) = 1) ->
  ~ (forall s t, 0 <= s -> 0 <= t -> a s t 0%nat * (b 0%nat + beta * s) + a s t 1%nat * b 1%nat + a s t 2%nat * (b 2%nat + beta * t) = s - t).
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
    specialize (H 0 t ltac:(lra) (proj1 T)). specialize (S 0 t). simpl in S.
    pose proof (P 0 t 0%nat). pose proof (P 0 t 1%nat). pose proof (P 0 t 2%nat).
    assert (0 <= beta * t) by nra.
    assert (a 0 t 0%nat * m <= a 0 t 0%nat * (b 0%nat + beta * 0)) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 1%nat * m <= a 0 t 1%nat * b 1%nat) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 2%nat * m <= a 0 t 2%nat * (b 2%nat + beta * t)) by (apply Rmult_le_compat_l; lra).
    assert (a 0 t 0%nat * m + a 0 t 1%nat * m + a 0 t 2%nat * m = m) by (rewrite <- (Rmult_1_l m) at 4; rewrite <- S; ring).
    lra.
  - set (s := Rabs M + 1). assert (T : 0 <= s /\ M < s).
    { unfold s. pose proof (Rabs_pos M). pose proof (Rle_abs M). lra. }
    specialize (H s 0 (proj1 T) ltac:(lra)). specialize (S s 0). simpl in S.
    pose proof (P s 0 0%nat). pose proof (P s 0 1%nat). pose proof (P s 0 2%nat).
    assert (beta * s <= 0) by nra.
    assert (a s 0 0%nat * (b 0%nat + beta * s) <= a s 0 0%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 1%nat * b 1%nat <= a s 0 1%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 2%nat * (b 2%nat + beta * 0) <= a s 0 2%nat * M) by (apply Rmult_le_compat_l; lra).
    assert (a s 0 0%nat * M + a s 0 1%nat * M + a s 0 2%nat * M = M) by (rewrite <- (Rmult_1_l M) at 4; rewrite <- S; ring).
    lra. Qed.

(* The page's example: she, outran, him, with the speeds s and t; both heads fetch the speed. *)
Definition runners (s t : R) : matrix := rows [[1; 0; 0; s]; [0; 0; 1; 0]; [0; 1; 0; t]].
Definition WQ (head : nat) : matrix := match head with
  | O => rows [[0; 6]; [0; 6]; [6; 0]; [0; 0]] | _ => rows [[6; 0]; [0; 6]; [6; 0]; [0; 0]] end.
Definition WK (head : nat) : matrix := match head with
  | O => rows [[1; 0]; [0; 0]; [0; 1]; [0; 0]] | _ => rows [[0; 1]; [1; 0]; [0; 0]; [0; 0]] end.
Definition WV : matrix := rows [[0]; [0]; [0]; [1]].
Definition head_output (head : nat) (X : matrix) : matrix :=
  attention 3 2 (product 4 X (WQ head)) (product 4 X (WK head)) (product 4 X WV).
Definition epsilon : R := exp 0 / (exp (6 / sqrt 2) + 2 * exp 0).
Theorem two_heads : forall s t : R,
  let WO := rows [[1 / (1 - 3 * epsilon)]; [-1 / (1 - 3 * epsilon)]] in
  product 2 (fun i r => head_output r (runners s t) i O) WO 1%nat 0%nat = s - t.
Proof. intros s t WO.
  assert (E1 : 1 < exp (6 / sqrt 2)).
  { rewrite <- exp_0. apply exp_increasing, Rdiv_lt_0_compat; [lra|apply sqrt_lt_R0; lra]. }
  assert (Ep : epsilon = 1 / (exp (6 / sqrt 2) + 2)) by (unfold epsilon; rewrite exp_0, Rmult_1_r; reflexivity).
  assert (P : 1 - 3 * epsilon = (exp (6 / sqrt 2) - 1) / (exp (6 / sqrt 2) + 2)) by (rewrite Ep; field; lra).
  assert (Two : INR 2 = 2) by (simpl; ring).
  (* the verb's scores in head r: 6 / sqrt 2 for the one it looks for, 0 for the others *)
  assert (Sc : forall r j, (r < 2)%nat -> (j < 3)%nat ->
    scores 2 (product 4 (runners s t) (WQ r)) (product 4 (runners s t) (WK r)) 1%nat j
    = (if Nat.eqb j (2 * r) then 6 else 0) / sqrt 2).
  { intros r j Hr J. unfold scores. rewrite Two. f_equal.
    destruct r as [|[|r]]; [| |lia]; destruct j as [|[|[|j]]]; try lia;
      unfold dot, product, runners, WQ, WK, rows; simpl; ring. }
  assert (Out : forall r, (r < 2)%nat -> head_output r (runners s t) 1%nat O
    = sum 3 (fun j => exp ((if Nat.eqb j (2 * r) then 6 else 0) / sqrt 2) / (exp (6 / sqrt 2) + 2)
        * match j with O => s | S O => 0 | _ => t end)).
  { intros r Hr. unfold head_output, attention, average, softmax. apply sum_ext. intros j J. rewrite Sc by assumption.
    f_equal; [f_equal|].
    - rewrite (sum_ext 3 _ (fun m => exp ((if Nat.eqb m (2 * r) then 6 else 0) / sqrt 2))) by (intros; f_equal; apply Sc; assumption).
      destruct r as [|[|r]]; [| |lia]; simpl; unfold Rdiv; rewrite Rmult_0_l, exp_0; ring.
    - destruct j as [|[|[|j]]]; try lia; unfold product, runners, WV, rows; simpl; ring. }
  assert (H0 : head_output 0 (runners s t) 1%nat O = (1 - 2 * epsilon) * s + epsilon * t).
  { rewrite Out by lia. simpl. replace (0 / sqrt 2) with 0 by (unfold Rdiv; ring). rewrite exp_0, Ep. field. lra. }
  assert (H1 : head_output 1 (runners s t) 1%nat O = epsilon * s + (1 - 2 * epsilon) * t).
  { rewrite Out by lia. simpl. replace (0 / sqrt 2) with 0 by (unfold Rdiv; ring). rewrite exp_0, Ep. field. lra. }
  unfold product. simpl. rewrite H0, H1. unfold WO, rows. simpl. field. rewrite P.
  apply Rgt_not_eq, Rdiv_lt_0_compat; lra. Qed.

(* More heads at the same width: multiply-adds of a product of a by b and b by c numbers *)
Definition multiply_adds (a b c : nat) : nat := (a * b * c)%nat.
Definition strict_favourite (n : nat) (s : vector) (j : nat) : Prop :=
  (j < n)%nat /\ forall m, (m < n)%nat -> m <> j -> s m < s j.
Theorem trade : forall (h n d dk : nat) (Q K : matrix), (h * dk = d)%nat ->
  (3 * multiply_adds n d (h * dk) + h * multiply_adds n dk n + h * multiply_adds n n dk + multiply_adds n (h * dk) d
    = 4 * n * (d * d) + 2 * (n * n) * d)%nat
  /\ rank_at_most n n (Nat.min n dk) (scores dk Q K)
  /\ (forall k : vector, exists j1 j2, forall (q : R) (j : nat),
      strict_favourite n (fun m => q * k m) j -> j = j1 \/ j = j2).
Proof. intros h n d dk Q K H. split; [|split].
  - unfold multiply_adds. rewrite H. nia.
  - destruct (Nat.min_spec n dk) as [[_ ->]|[_ ->]].
    + apply (product_rank n n n (fun i j => if Nat.eqb i j then 1 else 0) (scores dk Q K)). intros i j I J. unfold product.
      rewrite (sum_ext n _ (fun c => if Nat.eqb i c then scores dk Q K c j else 0)).
      * symmetry. apply (sum_one n i (fun c => scores dk Q K c j) I).
      * intros c _. destruct (Nat.eqb i c); ring.
    + apply (product_rank n n dk (fun i c => Q i c / sqrt (INR dk)) (transposed K)). intros i j _ _. unfold scores, dot, product, transposed.
      rewrite <- sum_div. apply sum_ext. intros. unfold Rdiv. ring.
  - intro k. destruct n as [|n]; [exists O, O; intros q j [J _]; lia|].
    destruct (largest_exists (S n) k) as (j1 & J1 & H1); [lia|].
    destruct (largest_exists (S n) (fun m => - k m)) as (j2 & J2 & H2); [lia|].
    exists j1, j2. intros q j [J F]. destruct (Nat.eq_dec j j1) as [E1|E1]; [left; exact E1|right].
    destruct (Nat.eq_dec j j2) as [E2|E2]; [exact E2|exfalso].
    pose proof (F j1 J1 (not_eq_sym E1)). pose proof (F j2 J2 (not_eq_sym E2)).
    pose proof (H1 j J). pose proof (H2 j J). cbv beta in *.
    destruct (Rle_dec 0 q); nra. Qed.
