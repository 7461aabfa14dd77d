(* What a model cannot tell, whatever its parameters. *)
From Attention Require Import Basics masking language_model positions.

(* A decoder of one block without positions: the logits after the last token are made from it and
   from what any number of heads give it, over all tokens up to it. Norms before attention are part of
   the score of a pair and of the value of a token. *)
Theorem order : forall (n : nat) (score : nat -> vector -> vector -> R) (value : nat -> vector -> vector)
    (after : vector -> (nat -> vector) -> vector) (X : matrix) (p p' : nat -> nat), permutation n p p' ->
  let logits Y := after (Y n) (fun h => average (S n) (softmax (S n) (fun j => score h (Y n) (Y j))) (fun j => value h (Y j))) in
  logits (reordered_before n p X) = logits X.
Proof. exact one_layer. Qed.

(* Any number of layers, in which positions enter through the rotation of queries and keys alone. A
   layer has any number of heads; what follows attention acts on each row. pos i is the place of token i. *)
Record rope_layer := { query : nat -> vector -> vector; key : nat -> vector -> vector; value : nat -> vector -> vector;
  after : vector -> (nat -> vector) -> vector }.
Definition rope_row (n h : nat) (omega : vector) (mask : nat -> nat -> bool) (pos : nat -> R) (l : rope_layer) (X : matrix) : matrix :=
  fun i => after l (X i) (fun r => average n (masked_softmax n (mask i) (fun j =>
    dot (2 * h) (turned omega (pos i) (query l r (X i))) (turned omega (pos j) (key l r (X j))) / sqrt (INR (2 * h))))
    (fun j => value l r (X j))).
Definition rope_model (n h : nat) (omega : vector) (mask : nat -> nat -> bool) (pos : nat -> R) (ls : list rope_layer) (X : matrix) : matrix :=
  fold_left (fun Y l => rope_row n h omega mask pos l Y) ls X.

Theorem shift : forall (h : nat) (omega : vector) (m : R),
  (forall q k t u, dot (2 * h) (turned omega (t + m) q) (turned omega (u + m) k) = dot (2 * h) (turned omega t q) (turned omega u k))
  /\ (forall n mask pos ls X, rope_model n h omega mask (fun i => pos i + m) ls X = rope_model n h omega mask pos ls X).
Proof. intros h omega m.
  assert (S : forall q k t u, dot (2 * h) (turned omega (t + m) q) (turned omega (u + m) k) = dot (2 * h) (turned omega t q) (turned omega u k)).
  { intros. rewrite !rotated_dot. f_equal. f_equal. ring. }
  split; [exact S|]. intros n mask pos ls. induction ls as [|l ls IH]; intro X; [reflexivity|]. simpl.
  replace (rope_row n h omega mask (fun i => pos i + m) l X) with (rope_row n h omega mask pos l X); [apply IH|].
  apply functional_extensionality. intro i. unfold rope_row. f_equal.
  apply functional_extensionality. intro r. f_equal. f_equal.
  apply functional_extensionality. intro j. rewrite S. reflexivity. Qed.

(* Blocks under a causal mask, each with any number of heads; row i of the weights of a head in the
   layer above them. The score of a pair may depend on both rows and on both positions, so that norms
   and rotations are part of it. The two texts may have different lengths. *)
Record block := { score : nat -> nat -> vector -> nat -> vector -> R; carried : nat -> vector -> vector;
  rest : vector -> (nat -> vector) -> vector }.
Definition weights (n h : nat) (b : block) (X : matrix) (i : nat) : vector :=
  masked_softmax n (causal i) (fun j => score b h i (X i) j (X j)).
Definition run (n : nat) (b : block) (X : matrix) : matrix :=
  fun i => rest b (X i) (fun h => average n (weights n h b X i) (fun j => carried b h (X j))).
Lemma same_weights n m h b X Y i : (i < n)%nat -> (i < m)%nat -> (forall j, (j <= i)%nat -> X j = Y j) ->
  weights n h b X i = weights m h b Y i.
Proof. intros N M H. apply functional_extensionality. intro j. unfold weights, masked_softmax, masked_exp, causal.
  rewrite (sum_leb n i (fun j => exp (score b h i (X i) j (X j))) N), (sum_leb m i (fun j => exp (score b h i (Y i) j (Y j))) M).
  rewrite (sum_ext (S i) _ (fun j => exp (score b h i (Y i) j (Y j)))) by (intros; rewrite !H by lia; reflexivity).
  destruct (Nat.leb j i) eqn:L; [|reflexivity]. apply Nat.leb_le in L. rewrite !H by lia. reflexivity. Qed.
Lemma seen_average n h b X i V c : (i < n)%nat ->
  average n (weights n h b X i) V c = sum (S i) (fun j => weights n h b X i j * V j c).
Proof. intro N. unfold average. rewrite <- (sum_leb n i _ N). apply sum_ext. intros j _.
  unfold weights, masked_softmax, masked_exp, causal. destruct (Nat.leb j i); [reflexivity|unfold Rdiv; ring]. Qed.
Lemma run_is_causal b : causal_block (fun n X => run n b X).
Proof. intros n m X Y i N M H. unfold run. rewrite (H i) by lia. f_equal. apply functional_extensionality. intro h.
  apply functional_extensionality. intro c. rewrite !seen_average, (same_weights n m h b X Y i N M H) by assumption.
  apply sum_ext. intros j J. rewrite (H j) by lia. reflexivity. Qed.
Theorem pronoun : forall (n m : nat) (below : list block) (b : block) (h : nat) (X Y : matrix) (i : nat),
  (i < n)%nat -> (i < m)%nat -> (forall l, (l <= i)%nat -> X l = Y l) ->
  let row n X := weights n h b (fold_left (fun U b => run n b U) below X) i in
  row n X = row m Y.
Proof. intros n m below b h X Y i N M H row. apply same_weights; [exact N|exact M|]. intros l L.
  assert (C : causal_block (fun n X => fold_left (fun U b => run n b U) below X)).
  { clear. induction below as [|b below IH]; intros n m X Y i N M H; simpl; [apply H; lia|].
    apply IH; [exact N|exact M|]. intros l L. apply run_is_causal; [lia|lia|]. intros e Le. apply H. lia. }
  apply C; [lia|lia|]. intros e Le. apply H. lia. Qed.
