(* Masks: a forbidden score is minus infinity, and the exponential of minus infinity is 0. *)
From Attention Require Import Basics.

(* The keys of a list, as scores of their own: key m of the list is key (at m) of the row. Keys that
   are seen are those of the list, each once. *)
Definition lists (n k : nat) (seen : nat -> bool) (at_ back : nat -> nat) : Prop :=
  (forall m, (m < k)%nat -> (at_ m < n)%nat /\ seen (at_ m) = true /\ back (at_ m) = m)
  /\ (forall j, (j < n)%nat -> seen j = true -> (back j < k)%nat /\ at_ (back j) = j).

Lemma sum_of_seen n k seen at_ back f : lists n k seen at_ back ->
  sum n (fun j => if seen j then f j else 0) = sum k (fun m => f (at_ m)).
Proof. intros [H1 H2].
  rewrite (sum_ext k _ (fun m => sum n (fun j => if Nat.eqb (at_ m) j then f j else 0))).
  2:{ intros m M. rewrite sum_one; [reflexivity|apply H1, M]. }
  rewrite sum_swap. apply sum_ext. intros j J. destruct (seen j) eqn:S.
  - destruct (H2 j J S) as [B A].
    rewrite (sum_ext k _ (fun m => if Nat.eqb (back j) m then f j else 0)).
    + rewrite (sum_one k (back j) (fun _ => f j) B). reflexivity.
    + intros m M. destruct (H1 m M) as (L & _ & R).
      destruct (Nat.eqb (at_ m) j) eqn:Q1; destruct (Nat.eqb (back j) m) eqn:Q2; try reflexivity.
      * apply Nat.eqb_eq in Q1. apply Nat.eqb_neq in Q2. subst j. exfalso. apply Q2, R.
      * apply Nat.eqb_neq in Q1. apply Nat.eqb_eq in Q2. subst m. exfalso. apply Q1, A.
  - rewrite sum_zero; [reflexivity|]. intros m M. destruct (H1 m M) as (_ & T & _).
    destruct (Nat.eqb (at_ m) j) eqn:Q; [apply Nat.eqb_eq in Q; subst j; congruence|reflexivity]. Qed.

Theorem minus_infinity : forall (n k : nat) (seen : nat -> bool) (s : vector) (at_ back : nat -> nat),
  (0 < k)%nat -> lists n k seen at_ back ->
  (forall j, (j < n)%nat -> seen j = false -> masked_softmax n seen s j = 0)
  /\ (forall m, (m < k)%nat -> masked_softmax n seen s (at_ m) = softmax k (fun m => s (at_ m)) m).
Proof. intros n k seen s at_ back K L. unfold masked_softmax, masked_exp. split.
  - intros j _ F. rewrite F. unfold Rdiv. ring.
  - intros m M. destruct L as [H1 H2]. destruct (H1 m M) as (_ & T & _). rewrite T.
    rewrite (sum_of_seen n k seen at_ back (fun j => exp (s j)) (conj H1 H2)). reflexivity. Qed.

(* One layer with matrices for queries, keys and values, under any mask *)
Definition layer (n dm d : nat) (mask : nat -> nat -> bool) (WQ WK WV X : matrix) : matrix :=
  masked_attention n d mask (product dm X WQ) (product dm X WK) (product dm X WV).

Lemma unseen_do_not_count n dm d mask WQ WK WV X Y i : X i = Y i ->
  (forall j, (j < n)%nat -> mask i j = true -> X j = Y j) ->
  layer n dm d mask WQ WK WV X i = layer n dm d mask WQ WK WV Y i.
Proof. intros Hi H. apply functional_extensionality. intro c.
  unfold layer, masked_attention, average, masked_softmax, masked_exp, scores, product.
  assert (S : forall j, (j < n)%nat ->
    (if mask i j then exp (dot d (fun b => sum dm (fun e => X i e * WQ e b)) (fun b => sum dm (fun e => X j e * WK e b)) / sqrt (INR d)) else 0)
    = (if mask i j then exp (dot d (fun b => sum dm (fun e => Y i e * WQ e b)) (fun b => sum dm (fun e => Y j e * WK e b)) / sqrt (INR d)) else 0)).
  { intros j J. destruct (mask i j) eqn:M; [|reflexivity]. rewrite Hi, (H j J M). reflexivity. }
  rewrite (sum_ext n _ _ S). apply sum_ext. intros j J. rewrite (S j J).
  destruct (mask i j) eqn:M; [rewrite (H j J M); reflexivity|]. unfold Rdiv. ring. Qed.

(* A map of sequences is causal if row i depends on the tokens up to i alone. *)
Definition is_causal (f : matrix -> matrix) : Prop :=
  forall X Y i, (forall j, (j <= i)%nat -> X j = Y j) -> f X i = f Y i.

Theorem no_leak : forall (n dm d : nat) (WQ WK WV : matrix),
  is_causal (layer n dm d causal WQ WK WV)
  /\ (forall before, is_causal before -> is_causal (fun X => layer n dm d causal WQ WK WV (before X))).
Proof. intros n dm d WQ WK WV.
  assert (C : is_causal (layer n dm d causal WQ WK WV)).
  { intros X Y i H. apply unseen_do_not_count; [apply H; lia|].
    intros j _ M. apply H. apply Nat.leb_le, M. }
  split; [exact C|]. intros f F X Y i H. apply C. intros j J. apply F. intros m M. apply H. lia. Qed.

Lemma sum_leb n i f : (i < n)%nat -> sum n (fun j => if Nat.leb j i then f j else 0) = sum (S i) f.
Proof. intro I. replace n with (S i + (n - S i))%nat by lia. rewrite sum_app.
  rewrite (sum_zero (n - S i)); [rewrite Rplus_0_r; apply sum_ext|].
  - intros j J. replace (Nat.leb j i) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia.
  - intros j J. replace (Nat.leb (S i + j) i) with false; [reflexivity|]. symmetry. apply Nat.leb_gt. lia. Qed.

(* Output i of a causal layer over n tokens is the last output of the layer over tokens 0 to i. *)
Theorem prefix : forall (n dm d : nat) (WQ WK WV X : matrix) (i c : nat), (i < n)%nat ->
  layer n dm d causal WQ WK WV X i c = layer (S i) dm d causal WQ WK WV X i c
  /\ layer n dm d causal WQ WK WV X i c
     = attention (S i) d (product dm X WQ) (product dm X WK) (product dm X WV) i c.
Proof. intros n dm d WQ WK WV X i c I.
  assert (A : forall m, (i < m)%nat -> layer m dm d causal WQ WK WV X i c
     = attention (S i) d (product dm X WQ) (product dm X WK) (product dm X WV) i c).
  { intros m M. unfold layer, masked_attention, attention, average, masked_softmax, softmax, masked_exp, causal.
    rewrite (sum_leb m i (fun j => exp _) M), <- (sum_leb m i (fun j => exp _ / _ * _) M).
    apply sum_ext. intros j _. destruct (Nat.leb j i); [reflexivity|unfold Rdiv; ring]. }
  split; [rewrite (A n I), (A (S i)) by lia; reflexivity|apply A, I]. Qed.

(* The real tokens are listed; the layer over the sequence on its own has them alone. *)
Theorem padding : forall (n k dm d : nat) (real : nat -> bool) (at_ back : nat -> nat) (WQ WK WV X : matrix) (m c : nat),
  (m < k)%nat -> lists n k real at_ back ->
  layer n dm d (fun _ => real) WQ WK WV X (at_ m) c
  = attention k d (product dm (fun m => X (at_ m)) WQ) (product dm (fun m => X (at_ m)) WK)
                  (product dm (fun m => X (at_ m)) WV) m c.
Proof. intros n k dm d real at_ back WQ WK WV X m c M L.
  unfold layer, masked_attention, attention, average, masked_softmax, softmax, masked_exp.
  rewrite (sum_of_seen n k real at_ back (fun j => exp _) L).
  transitivity (sum n (fun j => if real j then
    exp (scores d (product dm X WQ) (product dm X WK) (at_ m) j)
    / sum k (fun m' => exp (scores d (product dm X WQ) (product dm X WK) (at_ m) (at_ m')))
    * product dm X WV j c else 0)); [|exact (sum_of_seen n k real at_ back (fun j => _) L)].
  apply sum_ext. intros j _. destruct (real j); [reflexivity|unfold Rdiv; ring]. Qed.

Definition empty_row n (mask : nat -> nat -> bool) i := forall j, (j < n)%nat -> mask i j = false.
Definition both (real : nat -> bool) i j := andb (causal i j) (real j).
Theorem fully_masked : forall (n : nat) (real : nat -> bool),
  (forall i, (i < n)%nat -> empty_row n (both real) i <-> (forall j, (j <= i)%nat -> real j = false))
  /\ (forall k, (0 < k <= n)%nat -> (forall j, real j = Nat.ltb j k) ->
      (forall i, (i < n)%nat -> ~ empty_row n (both real) i)
      /\ (forall i j, (i < k)%nat -> (k <= j)%nat -> causal i j = false)).
Proof. intros n real. unfold empty_row, both, causal. split.
  - intros i I. split.
    + intros H j J. specialize (H j ltac:(lia)). apply Bool.andb_false_iff in H.
      destruct H as [H|H]; [apply Nat.leb_gt in H; lia|exact H].
    + intros H j _. destruct (Nat.leb j i) eqn:Q; [|reflexivity]. apply Nat.leb_le in Q. rewrite (H j Q). reflexivity.
  - intros k K R. split.
    + intros i I H. specialize (H 0%nat ltac:(lia)). simpl in H. rewrite R in H.
      apply Nat.ltb_ge in H. lia.
    + intros i j I J. apply Nat.leb_gt. lia. Qed.
