(* Cutting a text into tokens: a text is a list of words, a word a list of characters (numbers). *)
From Coq Require Import List Arith Bool.
Import ListNotations.

Definition token := list nat.
Definition same (a b : token) : bool := if list_eq_dec Nat.eq_dec a b then true else false.
(* Each occurrence of a pair becomes one token, from left to right. *)
Fixpoint merge (pair : token * token) (tokens : list token) : list token :=
  match tokens with
  | [] => []
  | a :: rest => match rest with
      | [] => [a]
      | b :: after => if andb (same a (fst pair)) (same b (snd pair))
          then (a ++ b) :: merge pair after else a :: merge pair rest
      end
  end.
Definition cut (merges : list (token * token)) (word : list nat) : list token :=
  fold_left (fun tokens pair => merge pair tokens) merges (map (fun c => [c]) word).
Definition cut_text (merges : list (token * token)) (words : list (list nat)) : list token := concat (map (cut merges) words).
(* The vocabulary: single characters that are known, and what the merges write together *)
Definition in_vocabulary (known : nat -> Prop) (merges : list (token * token)) (t : token) : Prop :=
  (exists c, known c /\ t = [c]) \/ (exists pair, In pair merges /\ t = fst pair ++ snd pair).

Lemma pairs_induction (Q : list token -> Prop) : Q [] -> (forall a, Q [a]) ->
  (forall a b rest, Q rest -> Q (b :: rest) -> Q (a :: b :: rest)) -> forall l, Q l.
Proof. intros H0 H1 H2 l. assert (Q l /\ forall a, Q (a :: l)) as [H _]; [|exact H].
  induction l as [|b l [IH IH']]; split; auto. Qed.
Lemma merge_joins pair : forall tokens, concat (merge pair tokens) = concat tokens.
Proof. apply pairs_induction; [reflexivity|reflexivity|]. intros a b rest IH IH'.
  cbn [merge]. destruct (andb _ _).
  - cbn [concat]. rewrite IH. apply eq_sym, app_assoc.
  - change (a ++ concat (merge pair (b :: rest)) = a ++ concat (b :: rest)). f_equal. exact IH'. Qed.
Lemma same_equal a b : same a b = true -> a = b.
Proof. unfold same. destruct (list_eq_dec Nat.eq_dec a b); [auto|discriminate]. Qed.
Lemma merge_keeps pair (Q : token -> Prop) : Q (fst pair ++ snd pair) -> forall tokens, Forall Q tokens -> Forall Q (merge pair tokens).
Proof. intro J. apply (pairs_induction (fun tokens => Forall Q tokens -> Forall Q (merge pair tokens))); auto.
  intros a b rest IH IH' F.
  pose proof (Forall_inv F) as A. pose proof (Forall_inv_tail F) as F'. pose proof (Forall_inv_tail F') as F''.
  cbn [merge]. destruct (andb _ _) eqn:D.
  - constructor; [|apply IH, F'']. apply andb_prop in D. destruct D as [D1 D2].
    rewrite (same_equal _ _ D1), (same_equal _ _ D2). exact J.
  - constructor; [exact A|apply IH', F']. Qed.
Lemma concat_letters word : concat (map (fun c : nat => [c]) word) = word.
Proof. induction word; simpl; [reflexivity|]. f_equal. exact IHword. Qed.

Theorem lossless : forall (known : nat -> Prop) (merges : list (token * token)) (words : list (list nat)),
  (forall c, In c (concat words) -> known c) ->
  Forall (in_vocabulary known merges) (cut_text merges words) /\ concat (cut_text merges words) = concat words.
Proof. intros known merges words K.
  assert (W : forall ms tokens, incl ms merges -> Forall (in_vocabulary known merges) tokens ->
    let l := fold_left (fun tokens pair => merge pair tokens) ms tokens in
    Forall (in_vocabulary known merges) l /\ concat l = concat tokens).
  { induction ms as [|m ms IH]; intros tokens I F; [split; [exact F|reflexivity]|].
    destruct (IH (merge m tokens)) as [G1 G2].
    - intros x X. apply I. right. exact X.
    - apply merge_keeps; [right; exists m; split; [apply I; left|]; reflexivity|exact F].
    - split; [exact G1|]. etransitivity; [exact G2|apply merge_joins]. }
  induction words as [|word words IH]; [split; constructor|]. unfold cut_text in *. simpl in *.
  destruct IH as [I1 I2]; [intros; apply K, in_or_app; right; assumption|].
  destruct (W merges (map (fun c => [c]) word) (incl_refl _)) as [C1 C2].
  - apply Forall_forall. intros t T. apply in_map_iff in T. destruct T as (c & <- & T).
    left. exists c. split; [apply K, in_or_app; left; exact T|reflexivity].
  - split; [apply Forall_app; split; assumption|]. rewrite concat_app, I2. f_equal.
    etransitivity; [exact C2|apply concat_letters]. Qed.
