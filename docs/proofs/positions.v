(* Positions by rotation. Pair i of a vector has the components 2 i and 2 i + 1 and the frequency
   omega i; h pairs are the dimension 2 h. *)
From Attention Require Import Basics.

(* x R_t: every pair is turned by the angle omega i times t *)
Definition turned (omega : vector) (t : R) (x : vector) : vector := fun c =>
  let i := (c / 2)%nat in let e := x (2 * i)%nat in let o := x (2 * i + 1)%nat in
  if Nat.even c then e * cos (omega i * t) - o * sin (omega i * t)
  else e * sin (omega i * t) + o * cos (omega i * t).
Lemma turned_even omega t x i : turned omega t x (2 * i)%nat
  = x (2 * i)%nat * cos (omega i * t) - x (2 * i + 1)%nat * sin (omega i * t).
Proof. unfold turned. rewrite Nat.even_mul. simpl Nat.even. cbv iota.
  replace (2 * i / 2)%nat with i by (rewrite Nat.mul_comm, Nat.div_mul; lia). reflexivity. Qed.
Lemma turned_odd omega t x i : turned omega t x (2 * i + 1)%nat
  = x (2 * i)%nat * sin (omega i * t) + x (2 * i + 1)%nat * cos (omega i * t).
Proof. unfold turned. rewrite Nat.even_add, Nat.even_mul. simpl Nat.even. cbv iota.
  replace ((2 * i + 1) / 2)%nat with i; [reflexivity|].
  rewrite (Nat.add_comm (2 * i)), Nat.mul_comm, Nat.div_add by lia. reflexivity. Qed.
Lemma dot_pairs h x y : dot (2 * h) x y = sum h (fun i => x (2 * i)%nat * y (2 * i)%nat + x (2 * i + 1)%nat * y (2 * i + 1)%nat).
Proof. unfold dot. induction h; [reflexivity|]. replace (2 * S h)%nat with (S (S (2 * h))) by lia.
  cbn [sum]. rewrite IHh. replace (2 * h + 1)%nat with (S (2 * h)) by lia. ring. Qed.
Lemma cos_minus' a b : cos (a - b) = cos a * cos b + sin a * sin b. Proof. apply cos_minus. Qed.

(* The sinusoidal encoding of a position: sines at even, cosines at odd places *)
Definition encoding (omega : vector) (t : R) : vector := fun c =>
  if Nat.even c then sin (omega (c / 2)%nat * t) else cos (omega (c / 2)%nat * t).
Lemma encoding_even omega t i : encoding omega t (2 * i)%nat = sin (omega i * t).
Proof. unfold encoding. rewrite Nat.even_mul. simpl Nat.even. cbv iota.
  replace (2 * i / 2)%nat with i by (rewrite Nat.mul_comm, Nat.div_mul; lia). reflexivity. Qed.
Lemma encoding_odd omega t i : encoding omega t (2 * i + 1)%nat = cos (omega i * t).
Proof. unfold encoding. rewrite Nat.even_add, Nat.even_mul. simpl Nat.even. cbv iota.
  replace ((2 * i + 1) / 2)%nat with i; [reflexivity|].
  rewrite (Nat.add_comm (2 * i)), Nat.mul_comm, Nat.div_add by lia. reflexivity. Qed.

Theorem shift : forall (omega : vector) (t delta : R) (i : nat),
  encoding omega (t + delta) (2 * i)%nat = turned omega (- delta) (encoding omega t) (2 * i)%nat
  /\ encoding omega (t + delta) (2 * i + 1)%nat = turned omega (- delta) (encoding omega t) (2 * i + 1)%nat.
Proof. intros omega t delta i. rewrite turned_even, turned_odd, !encoding_even, !encoding_odd.
  replace (omega i * - delta) with (- (omega i * delta)) by ring. rewrite cos_neg, sin_neg.
  rewrite Rmult_plus_distr_l, sin_plus, cos_plus. split; ring. Qed.

Theorem gram : forall (h : nat) (omega : vector) (t delta : R),
  dot (2 * h) (encoding omega t) (encoding omega (t + delta)) = sum h (fun i => cos (omega i * delta))
  /\ sqrt (dot (2 * h) (encoding omega t) (encoding omega t)) = sqrt (INR (2 * h) / 2).
Proof. intros h omega t delta. split.
  - rewrite dot_pairs. apply sum_ext. intros i _. rewrite !encoding_even, !encoding_odd.
    replace (omega i * delta) with (omega i * (t + delta) - omega i * t) by ring. rewrite cos_minus. ring.
  - f_equal. rewrite dot_pairs. rewrite (sum_ext h _ (fun _ => 1)).
    + rewrite sum_const, mult_INR. simpl. field.
    + intros i _. rewrite !encoding_even, !encoding_odd. pose proof (sin2_cos2 (omega i * t)) as H. unfold Rsqr in H. exact H. Qed.

Lemma rotated_dot h omega q k t u : dot (2 * h) (turned omega t q) (turned omega u k) = dot (2 * h) (turned omega (t - u) q) k.
Proof. rewrite !dot_pairs. apply sum_ext. intros i _. rewrite !turned_even, !turned_odd.
  replace (omega i * (t - u)) with (omega i * t - omega i * u) by ring. rewrite cos_minus, sin_minus. ring. Qed.
Lemma turned_by_0 h omega q k : dot (2 * h) (turned omega 0 q) k = dot (2 * h) q k.
Proof. rewrite !dot_pairs. apply sum_ext. intros i _. rewrite !turned_even, !turned_odd, Rmult_0_r, cos_0, sin_0. ring. Qed.

Theorem rope : forall (h : nat) (omega q k : vector) (t u : R),
  dot (2 * h) (turned omega t q) (turned omega u k) = dot (2 * h) (turned omega (t - u) q) k
  /\ sqrt (dot (2 * h) (turned omega t q) (turned omega t q)) = sqrt (dot (2 * h) q q).
Proof. intros. split; [apply rotated_dot|]. rewrite rotated_dot, Rminus_diag_eq by reflexivity.
  rewrite turned_by_0. reflexivity. Qed.

(* Equal scores under a causal mask, values 1, 0, 0, ... *)
Theorem causal_mask : forall (n t : nat) (s : R), (t < n)%nat ->
  average n (masked_softmax n (causal t) (fun _ => s)) (fun j _ => match j with O => 1 | _ => 0 end) 0%nat
  = 1 / INR (t + 1)
  /\ forall t', (t < t')%nat -> 1 / INR (t + 1) <> 1 / INR (t' + 1).
Proof. intros n t s T. split.
  - unfold average, masked_softmax, masked_exp.
    assert (C : sum n (fun j => if causal t j then exp s else 0) = INR (t + 1) * exp s).
    { unfold causal. replace n with (t + 1 + (n - (t + 1)))%nat by lia. rewrite sum_app, (sum_zero (n - (t + 1))).
      - rewrite (sum_ext (t + 1) _ (fun _ => exp s)); [rewrite sum_const; ring|].
        intros j J. replace (Nat.leb j t) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia.
      - intros j J. replace (Nat.leb (t + 1 + j) t) with false; [reflexivity|]. symmetry. apply Nat.leb_gt. lia. }
    rewrite C. rewrite (sum_ext n _ (fun j => if Nat.eqb 0 j then exp s / (INR (t + 1) * exp s) else 0)).
    + rewrite (sum_one n 0 (fun _ => _)) by lia. pose proof (exp_pos s).
      assert (0 < INR (t + 1)) by (apply lt_0_INR; lia). field. lra.
    + intros j _. destruct j; simpl; [unfold Rdiv; ring|ring].
  - intros t' L E. apply lt_INR in L. rewrite !plus_INR in E. simpl in E. pose proof (pos_INR t).
    assert (INR t + 1 = INR t' + 1); [|lra]. rewrite <- (Rinv_inv (INR t + 1)), <- (Rinv_inv (INR t' + 1)). f_equal.
    unfold Rdiv in E. rewrite !Rmult_1_l in E. exact E. Qed.

(* Hand i turns by omega i a token, and omega i is the base to the power -2 i / d. *)
Definition frequency (base : R) (d i : nat) : R := Rpower base (- (2 * INR i / INR d)).
Theorem turns : forall (base L : R) (d i : nat), 1 < base -> 2 * PI <= L -> (0 < d)%nat ->
  (2 * PI <= frequency base d i * L <-> INR i <= INR d / 2 * (ln (L / (2 * PI)) / ln base)).
Proof. intros base L d i B H D. apply lt_INR in D. simpl in D. pose proof PI_RGT_0.
  assert (Lb : 0 < ln base) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (F : ln (frequency base d i * L) = ln L - 2 * INR i / INR d * ln base).
  { rewrite ln_mult; [|apply exp_pos|lra]. unfold frequency, Rpower. rewrite ln_exp. ring. }
  assert (P : 0 < frequency base d i * L) by (apply Rmult_lt_0_compat; [apply exp_pos|lra]).
  assert (S : ln (L / (2 * PI)) = ln L - ln (2 * PI)) by (unfold Rdiv; rewrite ln_mult, ln_Rinv; [ring|lra|lra|apply Rinv_0_lt_compat; lra]). rewrite S.
  assert (Eq : INR d / 2 * ((ln L - ln (2 * PI)) / ln base) - INR i
    = (ln (frequency base d i * L) - ln (2 * PI)) * (INR d / (2 * ln base))) by (rewrite F; field; lra).
  assert (C : 0 < INR d / (2 * ln base)) by (apply Rdiv_lt_0_compat; lra).
  split; intro Q.
  - assert (ln (2 * PI) <= ln (frequency base d i * L)); [|nra].
    destruct Q as [Q| <-]; [left; apply ln_increasing; lra|lra].
  - assert (0 <= ln (frequency base d i * L) - ln (2 * PI)) as Z by nra.
    apply Rnot_lt_le. intro W. apply ln_increasing in W; [lra|exact P]. Qed.

(* Rows in another order: row i of the new matrix is row p i of the old *)
Definition reordered (p : nat -> nat) (X : matrix) : matrix := fun i => X (p i).
Definition weights n d (Q K : matrix) : matrix := fun i => softmax n (scores d Q K i).

Lemma weights_of_permuted_keys n d Q K p p' i j : permutation n p p' -> (j < n)%nat ->
  weights n d Q (reordered p K) i j = weights n d Q K i (p j).
Proof. intros P J. unfold weights, softmax, scores, reordered. f_equal.
  apply (sum_permuted n p p' (fun m => exp (dot d (Q i) (K m) / sqrt (INR d))) P). Qed.

Lemma permuted_keys n d Q K V p p' i c : permutation n p p' ->
  attention n d Q (reordered p K) (reordered p V) i c = attention n d Q K V i c.
Proof. intro P. unfold attention, average.
  rewrite <- (sum_permuted n p p' (fun j => softmax n (scores d Q K i) j * V j c) P).
  apply sum_ext. intros j J. unfold reordered at 2. f_equal.
  apply (weights_of_permuted_keys n d Q K p p' i j P J). Qed.

Theorem order : forall (n dm d : nat) (WQ WK WV X Q K V : matrix) (p p' : nat -> nat) (i j c : nat),
  permutation n p p' -> (i < n)%nat -> (j < n)%nat ->
  let layer X := attention n d (product dm X WQ) (product dm X WK) (product dm X WV) in
  let map X := weights n d (product dm X WQ) (product dm X WK) in
  layer (reordered p X) i c = reordered p (layer X) i c
  /\ map (reordered p X) i j = map X (p i) (p j)
  /\ attention n d Q (reordered p K) (reordered p V) i c = attention n d Q K V i c.
Proof. intros n dm d WQ WK WV X Q K V p p' i j c P I J layer map. repeat split.
  - exact (permuted_keys n d (reordered p (product dm X WQ)) _ _ p p' i c P).
  - exact (weights_of_permuted_keys n d (reordered p (product dm X WQ)) _ p p' i j P J).
  - apply (permuted_keys n d Q K V p p' i c P). Qed.

(* Any orthogonal matrices by which queries and keys are multiplied at position t *)
Definition same (d : nat) (M N : matrix) : Prop := forall i j, (i < d)%nat -> (j < d)%nat -> M i j = N i j.
Definition identity : matrix := fun i j => if Nat.eqb i j then 1 else 0.
Definition orthogonal (d : nat) (M : matrix) : Prop :=
  same d (product d M (transposed M)) identity /\ same d (product d (transposed M) M) identity.
Definition row_times (d : nat) (q : vector) (M : matrix) : vector := fun c => sum d (fun b => q b * M b c).
Definition power (d : nat) (M : matrix) (t : nat) : matrix := Nat.iter t (fun N => product d N M) identity.
Definition whole_power (d : nat) (M : matrix) (t : Z) : matrix :=     (* the inverse is the transposed *)
  match t with
  | Z0 => identity
  | Zpos p => power d M (Pos.to_nat p)
  | Zneg p => power d (transposed M) (Pos.to_nat p)
  end.

Lemma product_same d M M' N N' : same d M M' -> same d N N' -> same d (product d M N) (product d M' N').
Proof. intros H K i j I J. apply sum_ext. intros c C. rewrite (H i c I C), (K c j C J). reflexivity. Qed.
Lemma identity_product d M : same d (product d identity M) M.
Proof. intros i j I J. unfold product, identity. rewrite <- (sum_one d i (fun c => M c j) I).
  apply sum_ext. intros c _. destruct (Nat.eqb i c); ring. Qed.
Lemma product_identity d M : same d (product d M identity) M.
Proof. intros i j I J. unfold product, identity. rewrite <- (sum_one d j (fun c => M i c) J).
  apply sum_ext. intros c _. rewrite Nat.eqb_sym. destruct (Nat.eqb j c); ring. Qed.
Lemma unit_row d i M c : (i < d)%nat -> row_times d (identity i) M c = M i c.
Proof. intro I. unfold row_times, identity. rewrite <- (sum_one d i (fun b => M b c) I).
  apply sum_ext. intros b _. destruct (Nat.eqb i b); ring. Qed.

Theorem powers : forall (d : nat) (A B : Z -> matrix),
  (forall t, orthogonal d (A t) /\ orthogonal d (B t)) -> same d (A 0%Z) identity -> same d (B 0%Z) identity ->
  (exists g : Z -> vector -> vector -> R, forall (t u : Z) (q k : vector),
    dot d (row_times d q (A t)) (row_times d k (B u)) = g (t - u)%Z q k) ->
  forall t : Z, same d (A t) (whole_power d (A 1%Z) t) /\ same d (B t) (A t).
Proof. intros d A B O A0 B0 [g G].
  (* the products of all unit vectors *)
  set (Gm := fun s i j => g s (identity i) (identity j)).
  assert (S : forall t u, same d (product d (A t) (transposed (B u))) (Gm (t - u)%Z)).
  { intros t u i j I J. unfold Gm. rewrite <- G. apply sum_ext. intros c _. rewrite !unit_row by assumption. reflexivity. }
  assert (AG : forall t, same d (A t) (Gm t)).
  { intros t i j I J. rewrite <- (Z.sub_0_r t), <- (S t 0%Z i j I J), Z.sub_0_r.
    rewrite <- (product_identity d (A t) i j I J). apply sum_ext. intros c C. unfold transposed.
    rewrite (B0 j c J C). unfold identity. rewrite Nat.eqb_sym. reflexivity. }
  assert (BA : forall t, same d (B t) (A t)).
  { intros t i j I J. destruct (O t) as [[_ At] _].
    assert (Z1 : same d (product d (A t) (transposed (B t))) identity).
    { intros a b La Lb. rewrite (S t t a b La Lb), Z.sub_diag, <- (AG 0%Z a b La Lb). apply A0; assumption. }
    change (B t i j) with (transposed (B t) j i). change (A t i j) with (transposed (A t) j i).
    rewrite <- (identity_product d (transposed (B t)) j i J I), <- (product_identity d (transposed (A t)) j i J I).
    rewrite (product_same d identity (product d (transposed (A t)) (A t)) _ _ (fun a b La Lb => eq_sym (At a b La Lb)) (fun a b _ _ => eq_refl) j i J I).
    rewrite product_assoc. apply product_same; [intros a b _ _; reflexivity|exact Z1|exact J|exact I]. }
  assert (T : forall u, same d (transposed (A u)) (A (- u)%Z)).
  { intros u i j I J. rewrite (AG (- u)%Z i j I J). change (- u)%Z with (0 - u)%Z. rewrite <- (S 0%Z u i j I J).
    rewrite (product_same d (A 0%Z) identity (transposed (B u)) (transposed (A u)) A0 (fun a b La Lb => BA u b a Lb La) i j I J).
    symmetry. apply identity_product; assumption. }
  assert (Add : forall t s, same d (A (t + s)%Z) (product d (A t) (A s))).
  { intros t s i j I J. rewrite (AG _ i j I J). replace (t + s)%Z with (t - - s)%Z by lia. rewrite <- (S t (- s)%Z i j I J).
    apply product_same; [intros a b _ _; reflexivity| |exact I|exact J].
    intros a b La Lb. unfold transposed. rewrite (BA _ b a Lb La). change (transposed (A (- s)%Z) a b = A s a b).
    rewrite (T (- s)%Z a b La Lb), Z.opp_involutive. reflexivity. }
  assert (Pw : forall n r M, same d M (A r) -> same d (power d M n) (A (Z.of_nat n * r)%Z)).
  { intros n r M H. induction n as [|n IH]; intros i j I J; [symmetry; apply A0; assumption|].
    change (power d M (Datatypes.S n) i j) with (product d (power d M n) M i j).
    rewrite (product_same d _ _ _ _ IH H i j I J). replace (Z.of_nat (Datatypes.S n) * r)%Z with (Z.of_nat n * r + r)%Z by lia.
    symmetry. apply Add; assumption. }
  intro t. split; [|apply BA]. intros i j I J. destruct t as [|p|p]; [apply A0; assumption| |]; cbn [whole_power]; symmetry.
  - rewrite (Pw (Pos.to_nat p) 1%Z (A 1%Z)) by (try assumption; intros a b _ _; reflexivity).
    f_equal. lia.
  - rewrite (Pw (Pos.to_nat p) (-1)%Z (transposed (A 1%Z))) by (try assumption; apply T).
    replace (Z.of_nat (Pos.to_nat p) * -1)%Z with (Z.neg p) by lia. reflexivity. Qed.
