(* One layer of attention, step by step. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics.

(* Scores times a factor that grows: top marks the keys of which no other has a larger score. *)
Definition marks_largest (n : nat) (s : vector) (top : nat -> bool) : Prop :=
  forall j, (j < n)%nat -> (top j = true <-> forall m, (m < n)%nat -> s m <= s j).
Definition count (n : nat) (top : nat -> bool) : nat := fold_right (fun j c => if top j then S c else c) O (seq 0 n).

Lemma count_sum n top : INR (count n top) = sum n (fun j => if top j then 1 else 0).
Proof. unfold count. induction n; [reflexivity|]. rewrite seq_S, fold_right_app. simpl.
  assert (H : forall l k, INR (fold_right (fun j c => if top j then S c else c) k l)
    = INR (fold_right (fun j c => if top j then S c else c) O l) + INR k).
  { induction l as [|j l IH]; intro k; simpl; [ring|]. destruct (top j); rewrite ?S_INR, IH; ring. }
  rewrite H, IHn. destruct (top n); simpl; ring. Qed.
Lemma exp_vanishes a : a < 0 -> is_lim (fun c => exp (c * a)) p_infty 0.
Proof. intro A. apply (is_lim_comp exp (fun c => c * a) p_infty 0 m_infty); [apply is_lim_exp_m| |].
  - apply is_lim_spec. intro M. exists (M / a). intros x X.
    apply (Rmult_lt_gt_compat_neg_l a) in X; [|exact A]. unfold Rdiv in X.
    replace (a * (M * / a)) with M in X by (field; lra). lra.
  - exists 0. intros c _. discriminate. Qed.
Lemma is_lim_sum n f l : (forall j, (j < n)%nat -> is_lim (f j) p_infty (Finite (l j))) ->
  is_lim (fun c => sum n (fun j => f j c)) p_infty (sum n l).
Proof. induction n; intro H; simpl; [apply is_lim_const|]. apply is_lim_plus'; [apply IHn|]; auto with arith. Qed.

Lemma softmax_limit n s top j : (j < n)%nat -> marks_largest n s top ->
  is_lim (fun c => softmax n (fun i => c * s i) j) p_infty (Finite (if top j then 1 / INR (count n top) else 0)).
Proof. intros J T. destruct (largest_exists n s) as (m & M & H); [lia|].
  assert (E1 : forall i, (i < n)%nat -> is_lim (fun c => exp (c * (s i - s m))) p_infty (Finite (if top i then 1 else 0))).
  { intros i I. destruct (top i) eqn:Q.
    - apply (is_lim_ext (fun _ => 1)); [|apply is_lim_const]. intro c. rewrite <- exp_0. f_equal.
      assert (s m <= s i) by (apply (T i I); assumption). specialize (H i I).
      replace (s i) with (s m) by lra. ring.
    - apply exp_vanishes. destruct (Rle_dec (s m) (s i)) as [L|L]; [exfalso|lra].
      assert (top i = true); [|congruence]. apply (T i I). intros k Hk. specialize (H k Hk). lra. }
  assert (C : 1 <= INR (count n top)).
  { rewrite count_sum, (sum_others n m _ M). replace (top m) with true by (symmetry; apply (T m M); exact H).
    assert (0 <= others n m (fun i => if top i then 1 else 0)); [|lra].
    apply sum_nonneg. intros i _. destruct (Nat.eqb m i); [lra|]. destruct (top i); lra. }
  apply (is_lim_ext (fun c => exp (c * (s j - s m)) / sum n (fun i => exp (c * (s i - s m))))).
  { intro c. rewrite <- (softmax_shift n (fun i => c * s i) (- (c * s m)) j) by lia. unfold softmax, Rdiv.
    f_equal; [f_equal; ring|]. apply f_equal. apply sum_ext. intros i _. f_equal. ring. }
  replace (Finite (if top j then 1 / INR (count n top) else 0))
    with (Rbar_div (Finite (if top j then 1 else 0)) (INR (count n top))).
  2:{ destruct (top j); simpl; apply f_equal; unfold Rdiv; ring. }
  apply is_lim_div; [apply E1, J| | |].
  - rewrite count_sum. apply (is_lim_sum n (fun i c => exp (c * (s i - s m))) (fun i => if top i then 1 else 0)). exact E1.
  - intro Z. injection Z as Z. lra.
  - simpl. exact I. Qed.

(* The query c q, and m keys that have the largest dot product with q *)
Theorem nearest : forall (n m d : nat) (q : vector) (K : matrix) (top : nat -> bool) (j : nat),
  marks_largest n (fun i => dot d q (K i)) top -> count n top = m -> (j < n)%nat ->
  is_lim (fun c => softmax n (fun i => dot d (fun b => c * q b) (K i)) j) p_infty (Finite (if top j then 1 / INR m else 0)).
Proof. intros n m d q K top j T C J. rewrite <- C.
  apply (is_lim_ext (fun c => softmax n (fun i => c * dot d q (K i)) j)).
  - intro c. apply softmax_ext; [exact J|]. intros i _. unfold dot. rewrite <- sum_scal. apply sum_ext. intros. ring.
  - apply (softmax_limit n (fun i => dot d q (K i)) top j J T). Qed.

(* The inputs and the parameters of the page *)
Definition X : matrix := rows [[1; 0; 1; 0]; [0; 2; 0; 2]; [1; 1; 1; 1]].
Definition WK : matrix := rows [[0; 0; 1]; [1; 1; 0]; [0; 1; 0]; [1; 1; 0]].
Definition WQ : matrix := rows [[1; 0; 1]; [1; 0; 0]; [0; 0; 1]; [0; 1; 1]].
Definition weight : matrix := fun i => softmax 3 (fun j => dot 3 (product 4 X WQ i) (product 4 X WK j)).
Theorem itself : weight 0%nat 1%nat > weight 0%nat 0%nat /\ weight 2%nat 1%nat > weight 2%nat 2%nat.
Proof. assert (W : forall i j k, dot 3 (product 4 X WQ i) (product 4 X WK j) < dot 3 (product 4 X WQ i) (product 4 X WK k) ->
    weight i k > weight i j).
  { intros i j k L. unfold weight, softmax, Rdiv. apply Rmult_lt_compat_r.
    - apply Rinv_0_lt_compat, exp_sum_pos. lia.
    - apply exp_increasing, L. }
  split; apply W; unfold dot, product, X, WQ, WK, rows; simpl; lra. Qed.

Theorem positive : forall (n : nat) (s : vector) (i : nat), (i < n)%nat ->
  0 < softmax n s i
  /\ softmax 3 (fun j => match j with 1%nat => 0 | _ => 3 end) 1%nat = 1 / (1 + 2 * exp 3).
Proof. intros n s i I. split; [apply softmax_pos; lia|]. unfold softmax. simpl.
  rewrite exp_0. pose proof (exp_pos 3). field. repeat split; nra. Qed.

(* The outputs of the loop: scores, exponentials, their sum, weights, the average of the values *)
Definition step_by_step (n d dk : nat) (WQ WK WV X : matrix) : matrix := fun i c =>
  let q := fun a => sum d (fun b => X i b * WQ b a) in
  let k := fun j a => sum d (fun b => X j b * WK b a) in
  let v := fun j a => sum d (fun b => X j b * WV b a) in
  let e := fun j => exp (sum dk (fun a => q a * k j a)) in
  sum n (fun j => e j / sum n e * v j c).
Definition rows_softmax (n : nat) (S : matrix) : matrix := fun i => softmax n (S i).
Theorem whole : forall (n d dk : nat) (WQ WK WV X : matrix) (i c : nat), (i < n)%nat ->
  let Q := product d X WQ in let K := product d X WK in let V := product d X WV in
  step_by_step n d dk WQ WK WV X i c = product n (rows_softmax n (product dk Q (transposed K))) V i c.
Proof. reflexivity. Qed.

(* Changed weights: delta sums to 0; low and high bound the values' component *)
Theorem rounding : forall (n : nat) (a delta v : vector) (low high : R),
  sum n (fun j => a j + delta j) = sum n a ->
  (forall j, (j < n)%nat -> low <= v j <= high) ->
  Rabs (sum n (fun j => (a j + delta j) * v j) - sum n (fun j => a j * v j))
  <= 1 / 2 * sum n (fun j => Rabs (delta j)) * (high - low).
Proof. intros n a delta v low high S B. rewrite sum_plus in S.
  rewrite <- sum_minus, (sum_ext n _ (fun j => delta j * (v j - (low + high) / 2) + delta j * ((low + high) / 2)))
    by (intros; field).
  rewrite sum_plus, sum_scal_r. replace (sum n delta) with 0 by lra. rewrite Rmult_0_l, Rplus_0_r.
  apply Rle_trans with (1 := sum_abs _ _).
  replace (1 / 2 * sum n (fun j => Rabs (delta j)) * (high - low))
    with (sum n (fun j => Rabs (delta j)) * ((high - low) / 2)) by field.
  rewrite <- sum_scal_r. apply sum_le. intros j J. rewrite Rabs_mult.
  apply Rmult_le_compat_l; [apply Rabs_pos|]. destruct (B j J). apply Rabs_le. lra. Qed.

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

(* The loop: for each query all scores, their weights, the average of the values *)
Definition loop (n d : nat) (Q K V : matrix) : matrix := fun i c =>
  let s := fun j => sum d (fun a => Q i a * K j a) / sqrt (INR d) in
  sum n (fun j => exp (s j) / sum n (fun m => exp (s m)) * V j c).
Theorem product_form : forall (n d : nat) (Q K V : matrix) (i c : nat),
  loop n d Q K V i c
  = product n (rows_softmax n (fun a b => product d Q (transposed K) a b / sqrt (INR d))) V i c.
Proof. reflexivity. Qed.
