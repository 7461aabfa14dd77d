(* Encoders: what the left side allows, a word that may have been replaced, norms along two axes,
   and patches of an image. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics language_model.

(* The mean over m equally likely words of - ln p is least where all p are 1 / m. *)
Lemma uniform_loss m p : (0 < m)%nat -> (forall k, (k < m)%nat -> 0 < p k) -> sum m p <= 1 ->
  ln (INR m) <= sum m (fun k => - ln (p k)) / INR m
  /\ (sum m (fun k => - ln (p k)) / INR m <= ln (INR m) -> forall k, (k < m)%nat -> p k = 1 / INR m).
Proof. intros M Pp S. apply lt_INR in M. simpl in M. assert (M1 : 0 < 1 / INR m) by (apply Rdiv_lt_0_compat; lra).
  (* each term lies above ln m + 1 - m p, and on it only if p is 1 / m *)
  set (term := fun k => - ln (p k) - (ln (INR m) + (1 - INR m * p k))).
  assert (X : forall k, (k < m)%nat -> term k = INR m * (xlog (1 / INR m) (p k) - (1 / INR m - p k))).
  { intros k K. unfold term, xlog. destruct (Req_EM_T (1 / INR m) 0); [lra|].
    rewrite !ln_div by (try apply Pp; try apply K; lra). rewrite ln_1. field. lra. }
  assert (T : forall k, (k < m)%nat -> 0 <= term k).
  { intros k K. rewrite X by exact K. pose proof (xlog_above (1 / INR m) (p k) ltac:(lra) (Pp k K)).
    apply Rmult_le_pos; lra. }
  assert (A : sum m (fun k => - ln (p k)) = sum m term + INR m * ln (INR m) + (INR m - INR m * sum m p)).
  { unfold term. rewrite sum_minus, sum_plus, sum_minus, sum_scal, !sum_const. ring. }
  assert (N : INR m * sum m p <= INR m * 1) by (apply Rmult_le_compat_l; lra).
  assert (F : sum m (fun k => - ln (p k)) / INR m - ln (INR m)
    = (sum m term + (INR m - INR m * sum m p)) / INR m) by (rewrite A; field; lra).
  pose proof (sum_nonneg m term T) as G. split.
  - assert (0 <= (sum m term + (INR m - INR m * sum m p)) / INR m); [|lra].
    apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, M].
  - intros L k K. assert (Z : (sum m term + (INR m - INR m * sum m p)) / INR m * INR m <= 0 * INR m)
      by (apply Rmult_le_compat_r; lra).
    replace ((sum m term + (INR m - INR m * sum m p)) / INR m * INR m)
      with (sum m term + (INR m - INR m * sum m p)) in Z by (field; lra).
    pose proof (sum_term m term k K T) as B. rewrite X in B by exact K. symmetry.
    apply xlog_equal; [lra|apply Pp, K|]. nra. Qed.

Lemma at_most_one m g v : (forall k l, (k < m)%nat -> (l < m)%nat -> g k = g l -> k = l) ->
  0 <= sum m (fun k => if Nat.eqb v (g k) then 1 else 0) <= 1.
Proof. intro G. split; [apply sum_nonneg; intros k _; destruct (Nat.eqb v (g k)); lra|].
  induction m as [|m IH]; simpl; [lra|]. destruct (Nat.eqb v (g m)) eqn:Q.
  - apply Nat.eqb_eq in Q. rewrite sum_zero; [lra|]. intros k K. destruct (Nat.eqb v (g k)) eqn:R; [|reflexivity].
    apply Nat.eqb_eq in R. enough (k = m) by lia. apply G; [lia|lia|congruence].
  - rewrite Rplus_0_r. apply IH. intros k l K L. apply G; lia. Qed.
Lemma sum_of_some m n g f : (forall k, (k < m)%nat -> (g k < n)%nat) ->
  (forall k l, (k < m)%nat -> (l < m)%nat -> g k = g l -> k = l) -> (forall v, (v < n)%nat -> 0 <= f v) ->
  sum m (fun k => f (g k)) <= sum n f.
Proof. intros B G F. rewrite (sum_ext m _ (fun k => sum n (fun v => if Nat.eqb (g k) v then f v else 0))).
  2:{ intros k K. rewrite sum_one; [reflexivity|apply B, K]. }
  rewrite sum_swap. apply sum_le. intros v V.
  rewrite (sum_ext m _ (fun k => (if Nat.eqb v (g k) then 1 else 0) * f v)).
  - rewrite sum_scal_r. pose proof (at_most_one m g v G). specialize (F v V). nra.
  - intros k _. rewrite Nat.eqb_sym. destruct (Nat.eqb v (g k)); ring. Qed.

(* An outcome brings what stands on the left and the word of the place. Of that left side m words
   are possible, and given the left all of them are equally likely. *)
Definition one (b : bool) : R := if b then 1 else 0.
Definition equally_likely {A : Type} (P : space) (m n : nat) (left : nat -> A) (word : nat -> nat)
    (possible : A -> nat -> nat) : Prop :=
  (forall a k, (k < m)%nat -> (possible a k < n)%nat)
  /\ (forall a k l, (k < m)%nat -> (l < m)%nat -> possible a k = possible a l -> k = l)
  /\ (forall (f : A -> R) k, (k < m)%nat ->
      E P (fun w => f (left w) * one (Nat.eqb (word w) (possible (left w) k))) = E P (fun w => f (left w)) / INR m).

Lemma E_zero P X w : (forall w, (w < outcomes P)%nat -> 0 < chance P w -> 0 <= X w) -> E P X <= 0 -> (w < outcomes P)%nat -> 0 < chance P w -> X w = 0.
Proof. intros N Z L C. unfold E in Z.
  pose proof (sum_term (outcomes P) (fun w => chance P w * X w) w L) as T. cbv beta in T.
  assert (chance P w * X w <= 0).
  { apply Rle_trans with (2 := Z). apply T. intros v Lv.
    destruct (Rle_lt_or_eq_dec _ _ (chance_nonneg P v)) as [Cv|<-]; [|lra].
    apply Rmult_le_pos; [lra|apply N; assumption]. }
  specialize (N w L C). nra. Qed.
Lemma E_le P X Y : (forall w, (w < outcomes P)%nat -> 0 < chance P w -> X w <= Y w) -> E P X <= E P Y.
Proof. intro H. apply sum_le. intros w W. destruct (Rle_lt_or_eq_dec _ _ (chance_nonneg P w)) as [C|<-]; [|lra].
  apply Rmult_le_compat_l; [lra|apply H; assumption]. Qed.
Lemma E_almost P X Y : (forall w, (w < outcomes P)%nat -> 0 < chance P w -> X w = Y w) -> E P X = E P Y.
Proof. intro H. apply sum_ext. intros w W. destruct (Rle_lt_or_eq_dec _ _ (chance_nonneg P w)) as [C|<-]; [|ring].
  rewrite H by assumption. reflexivity. Qed.

Section LeftReader.
Context {A : Type} (P : space) (m n : nat) (left : nat -> A) (word : nat -> nat) (possible : A -> nat -> nat).
Context (M : (0 < m)%nat) (H : equally_likely P m n left word possible).
Let hit w k := one (Nat.eqb (word w) (possible (left w) k)).

Lemma some_word w : (w < outcomes P)%nat -> 0 < chance P w -> sum m (hit w) = 1.
Proof. intros W C. destruct H as (_ & G & L).
  assert (Le : forall w, 0 <= 1 - sum m (hit w)).
  { intro v. pose proof (at_most_one m (possible (left v)) (word v) (G _)) as B. unfold hit, one. lra. }
  enough (1 - sum m (hit w) = 0) by lra. apply (E_zero P (fun w => 1 - sum m (hit w))); [intros; apply Le| |exact W|exact C].
  rewrite E_minus, E_const, E_sum. rewrite (sum_ext m _ (fun _ => 1 / INR m)).
  - rewrite sum_const. apply lt_INR in M. simpl in M. right. field. lra.
  - intros k K. transitivity (E P (fun _ => 1) / INR m); [|rewrite E_const; reflexivity].
    rewrite <- (L (fun _ => 1) k K). apply E_ext. intro. unfold hit. ring. Qed.

(* Whatever depends on the left and the word: its expectation is that of the mean over the words *)
Lemma mean_over_words f : E P (fun w => f (left w) (word w))
  = E P (fun w => sum m (fun k => f (left w) (possible (left w) k)) / INR m).
Proof. destruct H as (_ & _ & L).
  rewrite (E_almost P _ (fun w => sum m (fun k => f (left w) (possible (left w) k) * hit w k))).
  - rewrite E_sum. rewrite (sum_ext m _ (fun k => E P (fun w => f (left w) (possible (left w) k)) / INR m)).
    + rewrite sum_div, <- E_sum. unfold Rdiv. rewrite Rmult_comm, <- E_scal. apply E_ext. intro. ring.
    + intros k K. apply (L (fun a => f a (possible a k)) k K).
  - intros w W C. rewrite <- (Rmult_1_r (f _ _)), <- (some_word w W C), <- sum_scal. apply sum_ext. intros k _.
    unfold hit, one. destruct (Nat.eqb (word w) (possible (left w) k)) eqn:Q; [|ring].
    apply Nat.eqb_eq in Q. rewrite Q. reflexivity. Qed.
End LeftReader.

(* A model that reads only the left: its probabilities p of the n words and its likeliest word are
   functions of the left. None of the possible words gets the probability 0: its loss is infinite. *)
Theorem left : forall (A : Type) (P : space) (m n : nat) (left : nat -> A) (word : nat -> nat)
    (possible : A -> nat -> nat) (p : A -> vector) (likeliest : A -> nat),
  (0 < m)%nat -> equally_likely P m n left word possible ->
  (forall a, distribution n (p a)) ->
  (forall w k, (w < outcomes P)%nat -> 0 < chance P w -> (k < m)%nat -> 0 < p (left w) (possible (left w) k)) ->
  ln (INR m) <= E P (fun w => - ln (p (left w) (word w)))
  /\ (E P (fun w => - ln (p (left w) (word w))) = ln (INR m) ->
      forall w k, (w < outcomes P)%nat -> 0 < chance P w -> (k < m)%nat -> p (left w) (possible (left w) k) = 1 / INR m)
  /\ E P (fun w => one (Nat.eqb (word w) (likeliest (left w)))) <= 1 / INR m.
Proof. intros A P m n left word possible p likeliest M H D Pp.
  assert (U : forall w, (w < outcomes P)%nat -> 0 < chance P w ->
    ln (INR m) <= sum m (fun k => - ln (p (left w) (possible (left w) k))) / INR m
    /\ (sum m (fun k => - ln (p (left w) (possible (left w) k))) / INR m <= ln (INR m) ->
        forall k, (k < m)%nat -> p (left w) (possible (left w) k) = 1 / INR m)).
  { intros w W C. destruct H as (B & G & _). destruct (D (left w)) as [D0 D1].
    apply (uniform_loss m (fun k => p (left w) (possible (left w) k)) M (fun k => Pp w k W C)). rewrite <- D1.
    apply sum_of_some; [apply B|apply G|exact D0]. }
  rewrite (mean_over_words P m n left word possible M H (fun a v => - ln (p a v))).
  rewrite (mean_over_words P m n left word possible M H (fun a v => one (Nat.eqb v (likeliest a)))).
  split; [|split].
  - rewrite <- (E_const P (ln (INR m))) at 1. apply E_le. apply U.
  - intros Eq w k W C K. refine (proj2 (U w W C) _ k K).
    enough (sum m (fun k => - ln (p (left w) (possible (left w) k))) / INR m - ln (INR m) = 0) by lra.
    apply (E_zero P (fun w => sum m (fun k => - ln (p (left w) (possible (left w) k))) / INR m - ln (INR m)));
      [intros v Wv Cv; pose proof (proj1 (U v Wv Cv)); lra| |exact W|exact C].
    rewrite E_minus, E_const, Eq. lra.
  - rewrite <- (E_const P (1 / INR m)) at 1. apply E_le. intros w _ _. destruct H as (_ & G & _).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, lt_0_INR, M|].
    pose proof (at_most_one m (possible (left w)) (likeliest (left w)) (G _)) as [_ B].
    apply Rle_trans with (2 := B). right. apply sum_ext. intros k _. rewrite Nat.eqb_sym. reflexivity. Qed.

(* At a chosen place the word is kept, or one of V words is drawn, or [MASK], number V, hides it. *)
Inductive fate := kept | replaced | hidden.
Definition shown (V : nat) (f : fate) (word drawn : nat) : nat :=
  match f with kept => word | replaced => drawn | hidden => V end.
Definition is_kept (f : fate) : bool := match f with kept => true | _ => false end.
Definition is_replaced (f : fate) : bool := match f with replaced => true | _ => false end.
Definition given (P : space) (event condition : nat -> bool) : R :=
  E P (fun w => one (event w) * one (condition w)) / E P (fun w => one (condition w)).

(* word w is the true word, and context w whether the rest of the text is c; neither has to do with
   the fate of the place and the word that is drawn. *)
Theorem visible : forall (P : space) (V v : nat) (q r : R) (word drawn : nat -> nat) (context : nat -> bool) (f : nat -> fate),
  0 < q -> 0 < r -> (v < V)%nat ->
  independent P (fun w => (word w, context w)) (fun w => (f w, drawn w)) ->
  E P (fun w => one (is_kept (f w))) = q ->
  (forall u, (u < V)%nat -> E P (fun w => one (is_replaced (f w)) * one (Nat.eqb (drawn w) u)) = r / INR V) ->
  0 < E P (fun w => one (context w)) ->
  let prior := given P (fun w => Nat.eqb (word w) v) context in
  given P (fun w => Nat.eqb (word w) v) (fun w => andb (Nat.eqb (shown V (f w) (word w) (drawn w)) v) (context w))
  = prior * (q + r / INR V) / (q * prior + r / INR V).
Proof. intros P V v q r word drawn context f Q Rp L I K D C prior.
  set (W := fun x : nat * bool => one (Nat.eqb (fst x) v) * one (snd x)).
  set (c := fun x : nat * bool => one (snd x)).
  set (k := fun y : fate * nat => one (is_kept (fst y))).
  set (s := fun y : fate * nat => one (is_replaced (fst y)) * one (Nat.eqb (snd y) v)).
  pose proof (I W k) as WK. pose proof (I W s) as WS. pose proof (I c s) as CS.
  unfold W, c, k, s in WK, WS, CS. cbn [fst snd] in WK, WS, CS. clear W c k s.
  assert (Vv : Nat.eqb V v = false) by (apply Nat.eqb_neq; lia).
  assert (Top : E P (fun w => one (Nat.eqb (word w) v)
      * one (andb (Nat.eqb (shown V (f w) (word w) (drawn w)) v) (context w)))
    = E P (fun w => one (Nat.eqb (word w) v) * one (context w)) * (q + r / INR V)).
  { rewrite <- (D v L), <- K, Rmult_plus_distr_l.
    rewrite <- WK, <- WS, <- E_plus. apply E_ext. intro w. unfold shown, one.
    destruct (f w), (Nat.eqb (word w) v) eqn:?, (Nat.eqb (drawn w) v) eqn:?, (context w);
      cbn [andb is_kept is_replaced]; rewrite ?Vv; cbn [andb]; rewrite ?Heqb; cbn [andb]; ring. }
  assert (Bottom : E P (fun w => one (andb (Nat.eqb (shown V (f w) (word w) (drawn w)) v) (context w)))
    = E P (fun w => one (Nat.eqb (word w) v) * one (context w)) * q + E P (fun w => one (context w)) * (r / INR V)).
  { rewrite <- (D v L), <- K. rewrite <- WK, <- CS, <- E_plus. apply E_ext. intro w. unfold shown, one.
    destruct (f w), (Nat.eqb (word w) v) eqn:?, (Nat.eqb (drawn w) v) eqn:?, (context w);
      cbn [andb is_kept is_replaced]; rewrite ?Vv; cbn [andb]; rewrite ?Heqb; cbn [andb]; ring. }
  unfold prior, given. rewrite Top, Bottom.
  assert (0 < INR V) by (apply lt_0_INR; lia). assert (0 < r / INR V) by (apply Rdiv_lt_0_compat; assumption).
  assert (0 <= E P (fun w => one (Nat.eqb (word w) v) * one (context w))).
  { apply sum_nonneg. intros w _. apply Rmult_le_pos; [apply chance_nonneg|].
    unfold one. destruct (Nat.eqb (word w) v), (context w); lra. }
  revert C H0 H1. generalize (E P (fun w => one (Nat.eqb (word w) v) * one (context w))) (E P (fun w => one (context w))) (r / INR V).
  intros joint of_context t C T J. field. split; nra. Qed.

(* The formula of both norms: with eps under the root, the mean and the variance of some numbers *)
Definition mean (n : nat) (x : vector) : R := sum n x / INR n.
Definition variance (n : nat) (x : vector) : R := sum n (fun i => (x i - mean n x) * (x i - mean n x)) / INR n.
Definition normalised (eps : R) (n : nat) (x : vector) : vector := fun i => (x i - mean n x) / sqrt (variance n x + eps).
(* A batch is a matrix with a token in each row, n of them in all. In evaluation batch norm takes a
   mean mu and a variance v that it has kept. *)
Inductive mode := training | evaluation.
Definition layer_norm (eps : R) (d : nat) (m : mode) (n : nat) (X : matrix) : matrix := fun i => normalised eps d (X i).
Definition batch_norm (eps : R) (mu v : vector) (m : mode) (n : nat) (X : matrix) : matrix := fun i c =>
  match m with
  | training => normalised eps n (fun j => X j c) i
  | evaluation => (X i c - mu c) / sqrt (v c + eps)
  end.
Theorem norms : forall (eps : R) (d : nat), 0 <= eps -> (0 < d)%nat ->
  (forall (m m' : mode) (n n' i i' c : nat) (X X' : matrix), (c < d)%nat ->
    (forall e, (e < d)%nat -> X i e = X' i' e) -> layer_norm eps d m n X i c = layer_norm eps d m' n' X' i' c)
  /\ (forall mu v, exists (n i c : nat) (X X' : matrix), (i < n)%nat /\ (c < d)%nat /\ X i = X' i
      /\ batch_norm eps mu v training n X i c <> batch_norm eps mu v training n X' i c).
Proof. intros eps d H D. split.
  - intros m m' n n' i i' c X X' C Eq. unfold layer_norm, normalised, variance, mean.
    rewrite (sum_ext d (X i) (X' i')), (Eq c C) by exact Eq.
    rewrite (sum_ext d (fun j => (X i j - _) * _) (fun j => (X' i' j - sum d (X' i') / INR d) * (X' i' j - sum d (X' i') / INR d)));
      [reflexivity|]. intros e Le. rewrite (Eq e Le). reflexivity.
  - intros mu v. exists 2%nat, 0%nat, 0%nat, (fun i _ => match i with O => 0 | _ => 2 end), (fun i _ => match i with O => 0 | _ => -2 end).
    repeat split; [lia|exact D|]. unfold batch_norm, normalised, variance, mean. simpl.
    replace (((0 + (0 - (0 + 0 + 2) / (1 + 1)) * (0 - (0 + 0 + 2) / (1 + 1)) + (2 - (0 + 0 + 2) / (1 + 1)) * (2 - (0 + 0 + 2) / (1 + 1))) / (1 + 1))) with 1 by field.
    replace (((0 + (0 - (0 + 0 + -2) / (1 + 1)) * (0 - (0 + 0 + -2) / (1 + 1)) + (-2 - (0 + 0 + -2) / (1 + 1)) * (-2 - (0 + 0 + -2) / (1 + 1))) / (1 + 1))) with 1 by field.
    replace (0 - (0 + 0 + 2) / (1 + 1)) with (-1) by field. replace (0 - (0 + 0 + -2) / (1 + 1)) with 1 by field.
    assert (0 < / sqrt (1 + eps)) by (apply Rinv_0_lt_compat, sqrt_lt_R0; lra). unfold Rdiv. lra. Qed.

(* An image cut into squares of side s, w of them in a line: pixel p of square i *)
Definition patches (s w : nat) (image : matrix) : matrix := fun i p =>
  image (i / w * s + p / s)%nat (i mod w * s + p mod s)%nat.
Definition convolution (size stride : nat) (image : matrix) (kernel : nat -> matrix) (a b c : nat) : R :=
  sum size (fun u => sum size (fun v => image (a * stride + u)%nat (b * stride + v)%nat * kernel c u v)).
Theorem patches_are_a_convolution : forall (s w : nat) (image W : matrix) (kernel : nat -> matrix) (i c : nat),
  (forall u v, (u < s)%nat -> (v < s)%nat -> kernel c u v = W (u * s + v)%nat c) ->
  product (s * s) (patches s w image) W i c = convolution s s image kernel (i / w)%nat (i mod w)%nat c.
Proof. intros s w image W kernel i c K. unfold product, convolution. rewrite sum_blocks.
  apply sum_ext. intros u U. apply sum_ext. intros v V. unfold patches. rewrite K by assumption.
  rewrite (Nat.add_comm (u * s)), Nat.div_add, Nat.mod_add, (Nat.div_small v s V), (Nat.mod_small v s V) by lia. reflexivity. Qed.
