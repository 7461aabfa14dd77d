(* Several texts in one array: padding, packing, positions, and the rows that enter the loss. *)
From Coq Require Import Bool.
From Attention Require Import Basics positions.

(* Layers in which tokens meet only in attention. The score of a head may depend on both rows and on
   both positions; what follows attention (residual connection, network) acts on each row alone. The
   rows at the bottom are made from the tokens, and from their positions if there is a table. *)
Record layer := { score : nat -> R -> vector -> R -> vector -> R; value : nat -> vector -> vector;
  after : vector -> (nat -> vector) -> vector }.
Definition pass (n : nat) (mask : nat -> nat -> bool) (pos : vector) (l : layer) (X : matrix) : matrix :=
  fun i => after l (X i) (fun r => average n
    (masked_softmax n (mask i) (fun j => score l r (pos i) (X i) (pos j) (X j))) (fun j => value l r (X j))).
Definition model (embed : R -> nat -> vector) (ls : list layer) (n : nat) (mask : nat -> nat -> bool)
    (pos : vector) (tokens : nat -> nat) : matrix :=
  fold_left (fun X l => pass n mask pos l X) ls (fun i => embed (pos i) (tokens i)).
Definition by_differences (embed : R -> nat -> vector) (ls : list layer) : Prop :=
  (forall t u x, embed t x = embed u x)
  /\ Forall (fun l => forall r t u m x y, score l r (t + m) x (u + m) y = score l r t x u y) ls.

Theorem moved : forall (h : nat) (omega q k : vector) (t u p : R),
  dot (2 * h) (turned omega (t + p) q) (turned omega (u + p) k) = dot (2 * h) (turned omega t q) (turned omega u k).
Proof. intros. rewrite !rotated_dot. f_equal. f_equal. ring. Qed.

(* The text of k tokens stands at places a to a + k - 1, and its rows see its own tokens alone. *)
Definition sees_itself (n a k : nat) (mask : nat -> nat -> bool) : Prop := forall i j, (i < k)%nat -> (j < n)%nat ->
  mask (a + i)%nat j = andb (Nat.leb a j) (Nat.leb j (a + i)).
Lemma sum_within n a k f : (a + k <= n)%nat ->
  sum n (fun j => if andb (Nat.leb a j) (Nat.ltb j (a + k)) then f j else 0) = sum k (fun m => f (a + m)%nat).
Proof. intro H. replace n with (a + k + (n - (a + k)))%nat by lia. rewrite !sum_app, (sum_zero a), (sum_zero (n - _)).
  - rewrite Rplus_0_l, Rplus_0_r. apply sum_ext. intros m M. replace (Nat.leb a (a + m)) with true by (symmetry; apply Nat.leb_le; lia).
    replace (Nat.ltb (a + m) (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
  - intros j _. replace (Nat.ltb (a + k + j) (a + k)) with false by (symmetry; apply Nat.ltb_ge; lia).
    rewrite andb_false_r. reflexivity.
  - intros j J. replace (Nat.leb a j) with false by (symmetry; apply Nat.leb_gt; lia). reflexivity. Qed.
Lemma pass_within n a k mask pos pos' l X Y i : (a + k <= n)%nat -> sees_itself n a k mask -> (i < k)%nat ->
  (forall j, (j < k)%nat -> X (a + j)%nat = Y j) ->
  (forall r x y j m, (j < k)%nat -> (m < k)%nat ->
    score l r (pos (a + j)%nat) x (pos (a + m)%nat) y = score l r (pos' j) x (pos' m) y) ->
  pass n mask pos l X (a + i)%nat = pass k causal pos' l Y i.
Proof. intros H M I E1 S. unfold pass. rewrite (E1 i I). f_equal. apply functional_extensionality. intro r.
  apply functional_extensionality. intro c. unfold average, masked_softmax, masked_exp.
  set (e := fun j => exp (score l r (pos (a + i)%nat) (Y i) (pos j) (X j))).
  assert (A : forall f g, (forall m, (m < k)%nat -> f (a + m)%nat = g m) ->
    sum n (fun j => if mask (a + i)%nat j then f j else 0) = sum k (fun m => if causal i m then g m else 0)).
  { intros f g F.
    transitivity (sum n (fun j => if andb (Nat.leb a j) (Nat.ltb j (a + k)) then (if Nat.leb j (a + i) then f j else 0) else 0)).
    - apply sum_ext. intros j J. rewrite (M i j I J). destruct (Nat.leb a j); [|reflexivity]. simpl.
      destruct (Nat.leb j (a + i)) eqn:L; [|destruct (Nat.ltb j (a + k)); reflexivity].
      apply Nat.leb_le in L. replace (Nat.ltb j (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
    - rewrite sum_within by exact H. apply sum_ext. intros m Mk. unfold causal.
      replace (Nat.leb (a + m) (a + i)) with (Nat.leb m i).
      + rewrite (F m Mk). reflexivity.
      + destruct (Nat.leb m i) eqn:L; symmetry; [apply Nat.leb_le in L; apply Nat.leb_le; lia|apply Nat.leb_gt in L; apply Nat.leb_gt; lia]. }
  set (e' := fun m => exp (score l r (pos' i) (Y i) (pos' m) (Y m))).
  assert (Ee : forall m, (m < k)%nat -> e (a + m)%nat = e' m).
  { intros m Mk. unfold e, e'. rewrite (E1 m Mk), S by assumption. reflexivity. }
  change (sum n (fun j => (if mask (a + i)%nat j then e j else 0) / sum n (fun j => if mask (a + i)%nat j then e j else 0) * value l r (X j) c)
    = sum k (fun m => (if causal i m then e' m else 0) / sum k (fun m => if causal i m then e' m else 0) * value l r (Y m) c)).
  rewrite (A e e' Ee). set (Z := sum k (fun m => if causal i m then e' m else 0)).
  transitivity (sum n (fun j => if mask (a + i)%nat j then e j / Z * value l r (X j) c else 0)).
  - apply sum_ext. intros j _. destruct (mask (a + i)%nat j); [reflexivity|unfold Rdiv; ring].
  - rewrite (A _ (fun m => e' m / Z * value l r (Y m) c)).
    + apply sum_ext. intros m _. destruct (causal i m); [reflexivity|unfold Rdiv; ring].
    + intros m Mk. rewrite (Ee m Mk), (E1 m Mk). reflexivity. Qed.
Lemma model_within embed ls n a k mask pos pos' tokens : (a + k <= n)%nat -> sees_itself n a k mask ->
  (forall j, (j < k)%nat -> pos (a + j)%nat = pos' j)
  \/ (by_differences embed ls /\ exists m, forall j, (j < k)%nat -> pos (a + j)%nat = pos' j + m) ->
  forall i, (i < k)%nat -> model embed ls n mask pos tokens (a + i)%nat = model embed ls k causal pos' (fun j => tokens (a + j)%nat) i.
Proof. intros H M P. unfold model.
  assert (S : Forall (fun l => forall r x y j m, (j < k)%nat -> (m < k)%nat ->
    score l r (pos (a + j)%nat) x (pos (a + m)%nat) y = score l r (pos' j) x (pos' m) y) ls).
  { destruct P as [P|[[_ D] [s P]]].
    - apply Forall_forall. intros l _ r x y j m J Mk. rewrite !P by assumption. reflexivity.
    - eapply Forall_impl; [|exact D]. intros l F r x y j m J Mk. cbv beta in F. rewrite !P by assumption. apply F. }
  assert (E0 : forall j, (j < k)%nat -> embed (pos (a + j)%nat) (tokens (a + j)%nat) = embed (pos' j) (tokens (a + j)%nat)).
  { intros j J. destruct P as [P|[[D _] _]]; [rewrite P by exact J; reflexivity|apply D]. }
  clear P. cut (forall Y X, (forall j, (j < k)%nat -> X (a + j)%nat = Y j) -> forall i, (i < k)%nat ->
    fold_left (fun X l => pass n mask pos l X) ls X (a + i)%nat = fold_left (fun X l => pass k causal pos' l X) ls Y i).
  { intros C i I. apply C; [exact E0|exact I]. }
  clear E0. induction ls as [|l rest IH]; intros Y X E0 i I; [apply E0, I|]. simpl.
  apply IH; [exact (Forall_inv_tail S)| |exact I]. intros j J.
  apply pass_within; try assumption. exact (Forall_inv S). Qed.

(* The cumulative sum of the mask, less 1 *)
Definition counted (real : nat -> bool) : vector := fun j => sum (S j) (fun l => if real l then 1 else 0) - 1.
Theorem padding : forall (embed : R -> nat -> vector) (ls : list layer) (n a k : nat) (tokens : nat -> nat) (i : nat),
  (a + k <= n)%nat -> (i < k)%nat ->
  let real j := andb (Nat.leb a j) (Nat.ltb j (a + k)) in
  let mask i j := andb (causal i j) (real j) in
  let alone := model embed ls k causal INR (fun j => tokens (a + j)%nat) in
  model embed ls n mask (counted real) tokens (a + i)%nat = alone i
  /\ (by_differences embed ls -> model embed ls n mask INR tokens (a + i)%nat = alone i).
Proof. intros embed ls n a k tokens i H I real mask alone.
  assert (M : sees_itself n a k mask).
  { intros i' j I' J. unfold mask, causal, real. destruct (Nat.leb j (a + i')) eqn:L; [|rewrite andb_false_r; reflexivity].
    apply Nat.leb_le in L. replace (Nat.ltb j (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia).
    rewrite !andb_true_r. reflexivity. }
  split.
  - apply model_within; [exact H|exact M| |exact I]. left. intros j J. unfold counted, real.
    rewrite (sum_ext (S (a + j)) _ (fun l => if andb (Nat.leb a l) (Nat.ltb l (a + S j)) then 1 else 0)).
    + rewrite sum_within by lia. rewrite sum_const, S_INR. ring.
    + intros l L. replace (Nat.ltb l (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia).
      replace (Nat.ltb l (a + S j)) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
  - intro D. apply model_within; [exact H|exact M| |exact I]. right. split; [exact D|].
    exists (INR a). intros j _. rewrite plus_INR. ring. Qed.

(* Texts have the numbers 1, 2, 3 and so on, padding has 0; text s stands at places a to a + k - 1. *)
Definition block_mask (segments : nat -> nat) (i j : nat) : bool :=
  andb (causal i j) (andb (Nat.eqb (segments i) (segments j)) (Nat.ltb 0 (segments j))).
Definition restarted (segments : nat -> nat) : vector := fun i => sum i (fun j => if Nat.eqb (segments j) (segments i) then 1 else 0).
Theorem packing : forall (embed : R -> nat -> vector) (ls : list layer) (n s a k : nat) (segments tokens : nat -> nat),
  (0 < s)%nat -> (a + k <= n)%nat -> (forall j, (j < n)%nat -> segments j = s <-> (a <= j < a + k)%nat) ->
  let mask := block_mask segments in
  let alone := model embed ls k causal INR (fun j => tokens (a + j)%nat) in
  forall i, (i < k)%nat ->
  (forall (pos : vector) (tokens' : nat -> nat), (forall j, (j < n)%nat -> segments j = s -> tokens' j = tokens j) ->
    model embed ls n mask pos tokens' (a + i)%nat = model embed ls n mask pos tokens (a + i)%nat)
  /\ model embed ls n mask (restarted segments) tokens (a + i)%nat = alone i
  /\ (by_differences embed ls -> model embed ls n mask INR tokens (a + i)%nat = alone i).
Proof. intros embed ls n s a k segments tokens S0 H G mask alone i I.
  assert (In : forall j, (j < n)%nat -> Nat.eqb (segments j) s = andb (Nat.leb a j) (Nat.ltb j (a + k))).
  { intros j J. destruct (Nat.eqb (segments j) s) eqn:Q; symmetry.
    - apply Nat.eqb_eq, G in Q; [|exact J]. apply andb_true_intro. split; [apply Nat.leb_le|apply Nat.ltb_lt]; lia.
    - apply Nat.eqb_neq in Q. apply andb_false_iff.
      destruct (Nat.leb a j) eqn:L; [right|left; reflexivity]. apply Nat.leb_le in L. apply Nat.ltb_ge.
      apply Nat.nlt_ge. intro W. apply Q, G; [exact J|lia]. }
  assert (Own : forall j, (j < k)%nat -> segments (a + j)%nat = s) by (intros j J; apply G; lia).
  assert (M : sees_itself n a k mask).
  { intros i' j I' J. unfold mask, block_mask, causal. rewrite (Own i' I'), (Nat.eqb_sym s).
    destruct (Nat.leb j (a + i')) eqn:L; [|rewrite andb_false_r; reflexivity]. apply Nat.leb_le in L.
    rewrite andb_true_r, andb_true_l. rewrite (In j J). replace (Nat.ltb j (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia).
    rewrite andb_true_r. destruct (Nat.leb a j) eqn:A; [|reflexivity]. apply Nat.leb_le in A.
    replace (segments j) with s by (symmetry; apply G; lia). apply Nat.ltb_lt, S0. }
  split; [|split].
  - intros pos tokens' T. rewrite !(model_within embed ls n a k mask pos (fun j => pos (a + j)%nat)); try assumption; try (left; reflexivity).
    unfold model.
    assert (E0 : forall j, (j < k)%nat -> embed (pos (a + j)%nat) (tokens' (a + j)%nat) = embed (pos (a + j)%nat) (tokens (a + j)%nat)).
    { intros j J. rewrite T; [reflexivity|lia|apply Own, J]. }
    cut (forall Y X, (forall j, (j < k)%nat -> X j = Y j) -> forall i, (i < k)%nat ->
      fold_left (fun X l => pass k causal (fun j => pos (a + j)%nat) l X) ls X i
      = fold_left (fun X l => pass k causal (fun j => pos (a + j)%nat) l X) ls Y i).
    { intro C. apply C; [exact E0|exact I]. }
    clear. induction ls as [|l rest IH]; intros Y X E0 i I; [apply E0, I|]. simpl. apply IH; [|exact I]. intros j J.
    apply (pass_within k 0 k causal _ _ l X Y j); try assumption; try lia; [|reflexivity].
    intros i' j' I' J'. unfold causal. rewrite Nat.add_0_l. reflexivity.
  - apply model_within; try assumption. left. intros j J. unfold restarted. rewrite (Own j J).
    rewrite (sum_ext (a + j) _ (fun l => if andb (Nat.leb a l) (Nat.ltb l (a + j)) then 1 else 0)).
    + rewrite sum_within by lia. rewrite sum_const. ring.
    + intros l L. rewrite (In l) by lia. replace (Nat.ltb l (a + k)) with true by (symmetry; apply Nat.ltb_lt; lia).
      replace (Nat.ltb l (a + j)) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
  - intro D. apply model_within; try assumption. right. split; [exact D|].
    exists (INR a). intros j _. rewrite plus_INR. ring. Qed.

(* The segments of packed texts of these lengths, from number s on, and padding behind them *)
Fixpoint segments_of (s : nat) (lengths : list nat) (padding : nat) : list nat :=
  match lengths with [] => repeat O padding | l :: rest => repeat s l ++ segments_of (S s) rest padding end.
(* A row enters the loss if the next token belongs to the same text. *)
Fixpoint loss_rows (segments : list nat) : nat :=
  match segments with
  | a :: rest => match rest with
      | b :: _ => (if andb (Nat.eqb a b) (Nat.ltb 0 a) then 1 else 0) + loss_rows rest
      | [] => 0
      end
  | [] => 0
  end.
Lemma loss_rows_of_text s l rest : (0 < s)%nat -> hd 0%nat rest <> s -> loss_rows (repeat s (S l) ++ rest) = (l + loss_rows rest)%nat.
Proof. intros P D. induction l as [|l IH].
  - simpl. destruct rest as [|b rest]; [reflexivity|]. simpl in D. destruct (Nat.eqb s b) eqn:Q; [apply Nat.eqb_eq in Q; congruence|reflexivity].
  - change (loss_rows (s :: s :: repeat s l ++ rest) = (S l + loss_rows rest)%nat).
    change (loss_rows (s :: s :: repeat s l ++ rest)) with ((if andb (Nat.eqb s s) (Nat.ltb 0 s) then 1 else 0) + loss_rows (s :: repeat s l ++ rest))%nat.
    rewrite Nat.eqb_refl. replace (Nat.ltb 0 s) with true by (symmetry; apply Nat.ltb_lt, P).
    simpl andb. cbv iota. change (s :: repeat s l ++ rest) with (repeat s (S l) ++ rest). rewrite IH. reflexivity. Qed.
Theorem loss : forall (lengths : list nat) (padding : nat), Forall (fun l => (0 < l)%nat) lengths ->
  loss_rows (segments_of 1 lengths padding) = (list_sum lengths - length lengths)%nat
  /\ (length lengths <= list_sum lengths)%nat.
Proof. intros lengths padding F.
  assert (Z : loss_rows (repeat 0%nat padding) = 0%nat).
  { induction padding as [|p IH]; [reflexivity|]. destruct p as [|p]; [reflexivity|]. simpl in *. exact IH. }
  assert (A : forall s, (0 < s)%nat -> (loss_rows (segments_of s lengths padding) + length lengths = list_sum lengths)%nat).
  { induction F as [|l rest L F IH]; intros s P; [simpl; rewrite Z; reflexivity|].
    cbn [segments_of length list_sum fold_right]. destruct l as [|l]; [lia|]. rewrite loss_rows_of_text; [|exact P|].
    - specialize (IH (S s) ltac:(lia)). unfold list_sum in *. cbn [fold_right]. lia.
    - destruct F as [|m r M _]; [destruct padding; simpl; lia|]. destruct m; [lia|]. simpl. lia. }
  specialize (A 1%nat ltac:(lia)). lia. Qed.
