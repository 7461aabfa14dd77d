(* The loop as two matrix products, and what a change of order does. *)
From Attention Require Import Basics.

Definition rows_softmax (n : nat) (S : matrix) : matrix := fun i => softmax n (S i).
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
