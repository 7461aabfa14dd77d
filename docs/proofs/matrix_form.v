(* The loop as two matrix products, and what a change of order does. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics eight_steps.

(* The loop: for each query all scores, their weights, the average of the values *)
Definition loop (n d : nat) (Q K V : matrix) : matrix := fun i c =>
  let s := fun j => sum d (fun a => Q i a * K j a) / sqrt (INR d) in
  sum n (fun j => exp (s j) / sum n (fun m => exp (s m)) * V j c).
Theorem product_form : forall (n d : nat) (Q K V : matrix) (i c : nat),
  loop n d Q K V i c
  = product n (rows_softmax n (fun a b => product d Q (transposed K) a b / sqrt (INR d))) V i c.
Proof. reflexivity. Qed.

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

Definition distance2 (d : nat) (x y : vector) := sum d (fun c => (x c - y c) * (x c - y c)).
Lemma distance2_split d x y : distance2 d x y = dot d x x - 2 * dot d x y + dot d y y.
Proof. unfold distance2, dot. rewrite <- sum_scal, <- sum_minus, <- sum_plus. apply sum_ext. intros. ring. Qed.

(* Key j is among the best: no key has more. The angle is smallest where its cosine is largest. *)
Definition best (n : nat) (f : nat -> R) (j : nat) : Prop := forall m, (m < n)%nat -> f m <= f j.
Definition cosine (d : nat) (q k : vector) : R := dot d q k / (sqrt (dot d q q) * sqrt (dot d k k)).
Theorem nearest : forall (n d : nat) (q : vector) (K : matrix), 0 < dot d q q ->
  (forall j m, dot d q (K j) >= dot d q (K m) <->
     distance2 d q (K j) - dot d (K j) (K j) <= distance2 d q (K m) - dot d (K m) (K m))
  /\ (forall r j, 0 < r -> (forall m, (m < n)%nat -> dot d (K m) (K m) = r * r) -> (j < n)%nat ->
      (best n (fun m => dot d q (K m)) j <-> best n (fun m => - sqrt (distance2 d q (K m))) j)
      /\ (best n (fun m => dot d q (K m)) j <-> best n (fun m => cosine d q (K m)) j))
  /\ (exists q' K', best 2 (fun m => dot 2 q' (K' m)) 1 /\ 0 < dot 2 q' q'
      /\ ~ best 2 (fun m => - sqrt (distance2 2 q' (K' m))) 1%nat /\ ~ best 2 (fun m => cosine 2 q' (K' m)) 1).
Proof. intros n d q K Q. split; [|split].
  - intros j m. rewrite !distance2_split. lra.
  - intros r j Hr Hn J.
    assert (D : forall m, (m < n)%nat -> distance2 d q (K m) = dot d q q - 2 * dot d q (K m) + r * r).
    { intros m M. rewrite distance2_split, (Hn m M). reflexivity. }
    assert (N : forall m, 0 <= distance2 d q (K m)) by (intro; apply sum_nonneg; intros; apply Rle_0_sqr).
    assert (C : forall m, (m < n)%nat -> cosine d q (K m) = dot d q (K m) * / (sqrt (dot d q q) * r)).
    { intros m M. unfold cosine. rewrite (Hn m M), sqrt_square by lra. reflexivity. }
    assert (I : 0 < / (sqrt (dot d q q) * r)).
    { apply Rinv_0_lt_compat, Rmult_lt_0_compat; [apply sqrt_lt_R0, Q|exact Hr]. }
    split; split; intros B m M; specialize (B m M).
    + apply Ropp_le_contravar. apply sqrt_le_1; [apply N|apply N|]. rewrite !D by assumption. lra.
    + apply Ropp_le_cancel in B. apply sqrt_le_0 in B; [|apply N|apply N].
      rewrite !D in B by assumption. lra.
    + cbv beta. rewrite !C by assumption. apply Rmult_le_compat_r; [left; exact I|exact B].
    + cbv beta in B. rewrite !C in B by assumption. apply Rmult_le_reg_r with (1 := I). exact B.
  - exists (fun c => match c with O => 1 | _ => 0 end).
    exists (fun j c => match j, c with O, O => 1 | O, _ => 0 | _, _ => 2 end).
    unfold best, cosine, distance2, dot. simpl. repeat split.
    + intros m M. destruct m as [|[|m]]; [simpl; lra|simpl; lra|lia].
    + lra.
    + intro B. specialize (B O ltac:(lia)). simpl in B. apply Ropp_le_cancel in B.
      apply sqrt_le_0 in B; lra.
    + intro B. specialize (B O ltac:(lia)). simpl in B.
      replace (0 + 1 * 1 + 0 * 0) with 1 in B by ring. rewrite sqrt_1 in B.
      replace (0 + 1 * 2 + 0 * 2) with 2 in B by ring. replace (0 + 2 * 2 + 2 * 2) with 8 in B by ring.
      assert (2 < sqrt 8) by (rewrite <- (sqrt_square 2) at 1 by lra; apply sqrt_lt_1; lra).
      assert (2 / (1 * sqrt 8) < 1); [|lra].
      apply (Rmult_lt_reg_r (sqrt 8)); [lra|]. replace (2 / (1 * sqrt 8) * sqrt 8) with 2 by (field; lra). lra. Qed.

(* The scores times t; top marks the keys that share the largest score. *)
Theorem lookup : forall (n : nat) (s : vector) (V : matrix) (top : nat -> bool) (j c : nat),
  marks_largest n s top -> (j < n)%nat ->
  is_lim (fun t => softmax n (fun i => t * s i) j) p_infty (Finite (if top j then 1 / INR (count n top) else 0))
  /\ is_lim (fun t => average n (softmax n (fun i => t * s i)) V c) p_infty
       (Finite (sum n (fun i => if top i then V i c else 0) / INR (count n top))).
Proof. intros n s V top j c T J. split; [apply softmax_limit; assumption|].
  replace (sum n (fun i => if top i then V i c else 0) / INR (count n top))
    with (sum n (fun i => (if top i then 1 / INR (count n top) else 0) * V i c)).
  - apply (is_lim_sum n (fun i t => softmax n (fun m => t * s m) i * V i c)). intros i I.
    pose proof (is_lim_scal_r _ (V i c) _ _ (softmax_limit n s top i I T)) as L. exact L.
  - rewrite <- sum_div. apply sum_ext. intros i _. destruct (top i); unfold Rdiv; ring. Qed.

(* The angle between q and k is the number theta between 0 and pi for which the law of cosines holds in
   the triangle 0, q, k. The projection of k onto q is the multiple of q that leaves a remainder at a
   right angle; its signed length is that multiple times the norm of q. *)
Definition angle (d : nat) (q k : vector) (theta : R) : Prop := 0 <= theta <= PI
  /\ distance2 d q k = norm d q * norm d q - 2 * (norm d q * norm d k * cos theta) + norm d k * norm d k.
Theorem projection : forall (d : nat) (q k : vector), norm d q <> 0 -> norm d k <> 0 ->
  (exists theta, angle d q k theta)
  /\ (forall theta, angle d q k theta -> dot d q k = norm d q * norm d k * cos theta)
  /\ (forall theta t, angle d q k theta -> dot d q (fun c => k c - t * q c) = 0 ->
      t * norm d q = norm d k * cos theta).
Proof. intros d q k Q K.
  assert (Pq : 0 < norm d q) by (destruct (Rle_lt_or_eq_dec 0 _ (sqrt_pos (dot d q q))); [assumption|exfalso; apply Q; symmetry; assumption]).
  assert (Pk : 0 < norm d k) by (destruct (Rle_lt_or_eq_dec 0 _ (sqrt_pos (dot d k k))); [assumption|exfalso; apply K; symmetry; assumption]).
  assert (D : forall theta, angle d q k theta -> dot d q k = norm d q * norm d k * cos theta).
  { intros theta [_ H]. rewrite distance2_split, !norm_squared in H. lra. }
  split; [|split; [exact D|]].
  - pose proof (cauchy_schwarz d q k) as H. assert (P : 0 < norm d q * norm d k) by nra.
    exists (acos (dot d q k / (norm d q * norm d k))). split; [apply acos_bound|].
    rewrite cos_acos.
    + rewrite distance2_split, !norm_squared. field. split; assumption.
    + apply Rabs_le_between. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (norm d q * norm d k)) by lra.
      apply (Rmult_le_reg_r (norm d q * norm d k)); [exact P|]. field_simplify; [lra|split; assumption].
  - intros theta t A O.
    assert (H : dot d q (fun c => k c - t * q c) = dot d q k - t * dot d q q).
    { unfold dot. rewrite <- sum_scal, <- sum_minus. apply sum_ext. intros. ring. }
    rewrite H, (D theta A), <- norm_squared in O. apply (Rmult_eq_reg_l (norm d q)); [lra|exact Q]. Qed.
