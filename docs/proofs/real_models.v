(* What a model cannot tell, whatever its parameters. *)
From Attention Require Import Basics masking language_model positions.

(* A decoder of one block without positions: the logits after the last token are made from it and
   from what any number of heads give it, over all tokens up to it. *)
Theorem order : forall (n dm d : nat) (WQ WK WV : nat -> matrix) (after : vector -> (nat -> vector) -> vector)
    (X : matrix) (p p' : nat -> nat), permutation n p p' ->
  let logits Y := after (Y n) (fun h => attention (S n) d (product dm Y (WQ h)) (product dm Y (WK h)) (product dm Y (WV h)) n) in
  logits (reordered_before n p X) = logits X.
Proof. intros n dm d WQ WK WV after X p p' P logits. unfold logits.
  assert (Ln : reordered_before n p X n = X n) by (unfold reordered_before; rewrite Nat.ltb_irrefl; reflexivity).
  rewrite Ln. f_equal. apply functional_extensionality. intro h.
  exact (one_layer n dm d (WQ h) (WK h) (WV h) (fun _ o => o) X p p' P). Qed.

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
   layer above them. The two texts may have different lengths. *)
Record block := { WQ : nat -> matrix; WK : nat -> matrix; WV : nat -> matrix; rest : vector -> (nat -> vector) -> vector }.
Definition run (n dm d : nat) (b : block) (X : matrix) : matrix :=
  fun i => rest b (X i) (fun h => layer n dm d causal (WQ b h) (WK b h) (WV b h) X i).
Definition weights_above (n dm d : nat) (below : list block) (Q K X : matrix) (i : nat) : vector :=
  let Y := fold_left (fun Y b => run n dm d b Y) below X in
  masked_softmax n (causal i) (scores d (product dm Y Q) (product dm Y K) i).
Theorem pronoun : forall (n m dm d : nat) (below : list block) (Q K X Y : matrix) (i j : nat),
  (i < n)%nat -> (i < m)%nat -> (forall l, (l <= i)%nat -> X l = Y l) ->
  weights_above n dm d below Q K X i j = weights_above m dm d below Q K Y i j.
Proof. intros n m dm d below Q K X Y i j N M H.
  assert (C : causal_block (fun n X => fold_left (fun Y b => run n dm d b Y) below X)).
  { clear. induction below as [|b below IH]; intros n m X Y i N M H; simpl; [apply H; lia|].
    apply IH; [exact N|exact M|]. intros l L. unfold run. rewrite (H l L). f_equal. apply functional_extensionality. intro h.
    apply masked_layer_is_causal_block; [lia|lia|]. intros e Le. apply H. lia. }
  unfold weights_above. set (X' := fold_left _ below X). set (Y' := fold_left _ below Y).
  assert (E1 : forall l, (l <= i)%nat -> X' l = Y' l).
  { intros l L. apply C; [lia|lia|]. intros e Le. apply H. lia. }
  unfold masked_softmax, masked_exp, causal, scores, dot, product.
  assert (S : forall k, k = n \/ k = m ->
    sum k (fun j => if Nat.leb j i then exp (sum d (fun c => sum dm (fun a => Y' i a * Q a c) * sum dm (fun a => Y' j a * K a c)) / sqrt (INR d)) else 0)
    = sum (S i) (fun j => exp (sum d (fun c => sum dm (fun a => Y' i a * Q a c) * sum dm (fun a => Y' j a * K a c)) / sqrt (INR d)))).
  { intros k Hk. apply (sum_leb k i (fun j => exp _)). lia. }
  rewrite (sum_ext n _ (fun j => if Nat.leb j i then exp (sum d (fun c => sum dm (fun a => Y' i a * Q a c) * sum dm (fun a => Y' j a * K a c)) / sqrt (INR d)) else 0)).
  - rewrite !S by auto. destruct (Nat.leb j i) eqn:L; [|reflexivity]. apply Nat.leb_le in L. rewrite (E1 i), (E1 j) by lia. reflexivity.
  - intros l _. destruct (Nat.leb l i) eqn:L; [|reflexivity]. apply Nat.leb_le in L. rewrite (E1 i), (E1 l) by lia. reflexivity. Qed.
