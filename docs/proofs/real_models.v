(* What a model cannot tell, whatever its parameters. *)
From Attention Require Import Basics language_model positions.

(* A decoder of one block without positions: the logits after the last token are made from it and
   from what any number of heads give it, over all tokens up to it. *)
Theorem order : forall (n heads dm d : nat) (WQ WK WV : nat -> matrix) (after : vector -> (nat -> vector) -> vector)
    (X : matrix) (p p' : nat -> nat), permutation n p p' ->
  let logits Y := after (Y n) (fun h => attention (S n) d (product dm Y (WQ h)) (product dm Y (WK h)) (product dm Y (WV h)) n) in
  logits (reordered_before n p X) = logits X.
Proof. intros n heads dm d WQ WK WV after X p p' P logits. unfold logits.
  assert (Ln : reordered_before n p X n = X n) by (unfold reordered_before; rewrite Nat.ltb_irrefl; reflexivity).
  rewrite Ln. f_equal. apply functional_extensionality. intro h.
  exact (one_layer n dm d (WQ h) (WK h) (WV h) (fun _ o => o) X p p' P). Qed.

(* Scores of rotated queries and keys, all positions moved by m *)
Theorem shift : forall (h : nat) (omega q k : vector) (t u m : R),
  dot (2 * h) (turned omega (t + m) q) (turned omega (u + m) k) = dot (2 * h) (turned omega t q) (turned omega u k).
Proof. intros. rewrite !rotated_dot. f_equal. f_equal. ring. Qed.
