(* Other ways to compare a query with a key. *)
From Coq Require Import Classical.
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics.

Theorem no_tanh : forall (n : nat) (f g : vector) (i j : nat), (0 < n)%nat ->
  softmax n (fun j => f i + g j) j = exp (g j) / sum n (fun m => exp (g m)).
Proof. intros n f g i j N. fold (softmax n g j). rewrite <- (softmax_shift n g (f i) j N).
  f_equal. apply functional_extensionality. intro. ring. Qed.

(* A cosine lies between -1 and 1; the best case has 1 for key j and -1 for all others. *)
Theorem bound : forall (n j : nat) (beta : R) (cosines : vector), 0 < beta -> (j < n)%nat ->
  (forall m, (m < n)%nat -> -1 <= cosines m <= 1) ->
  softmax n (fun m => beta * cosines m) j <= 1 / (1 + (INR n - 1) * exp (- 2 * beta))
  /\ (cosines j = 1 -> (forall m, (m < n)%nat -> m <> j -> cosines m = -1) ->
      softmax n (fun m => beta * cosines m) j = 1 / (1 + (INR n - 1) * exp (- 2 * beta))).
Proof. intros n j beta cs B J H.
  assert (W : softmax n (fun m => beta * cs m) j = 1 / (1 + others n j (fun m => exp (beta * cs m - beta * cs j)))).
  { unfold softmax. rewrite (sum_others n j _ J).
    assert (others n j (fun m => exp (beta * cs m - beta * cs j)) = others n j (fun m => exp (beta * cs m)) / exp (beta * cs j)) as ->.
    { unfold others. rewrite <- sum_div. apply sum_ext. intros m _. pose proof (exp_pos (beta * cs j)).
      destruct (Nat.eqb j m); [field; lra|]. unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. }
    assert (0 <= others n j (fun m => exp (beta * cs m))).
    { apply sum_nonneg. intros m _. destruct (Nat.eqb j m); [lra|left; apply exp_pos]. }
    pose proof (exp_pos (beta * cs j)). field. lra. }
  assert (I : 0 <= INR n - 1) by (assert (INR 1 <= INR n) by (apply le_INR; lia); simpl in *; lra).
  pose proof (exp_pos (- 2 * beta)). assert (0 <= (INR n - 1) * exp (- 2 * beta)) by nra.
  rewrite W. split.
  - unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; [lra|]. apply Rplus_le_compat_l.
    rewrite <- (others_const n j _ J). apply sum_le. intros m M. destruct (Nat.eqb j m); [lra|].
    destruct (H m M), (H j J). assert (- 2 * beta <= beta * cs m - beta * cs j) as L by nra.
    destruct (Rle_lt_or_eq_dec _ _ L) as [L'|<-]; [left; apply exp_increasing, L'|right; reflexivity].
  - intros C1 C2. rewrite <- (others_const n j _ J). f_equal. f_equal. apply sum_ext. intros m M.
    destruct (Nat.eqb j m) eqn:Q; [reflexivity|]. apply Nat.eqb_neq in Q.
    rewrite C1, (C2 m M) by (intro; subst; apply Q; reflexivity). f_equal. ring. Qed.

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

(* The rank of n columns is at most r: of each r + 1 of them, some combination that is not empty is 0.
   Then one is a combination of the others. *)
Definition sum_over (l : list nat) (f : nat -> R) : R := fold_right (fun j t => f j + t) 0 l.
Definition independent_columns (m : nat) (M : matrix) (l : list nat) : Prop := forall c : vector,
  (forall i, (i < m)%nat -> sum_over l (fun j => c j * M i j) = 0) -> forall j, In j l -> c j = 0.
Definition rank_at_most (m n r : nat) (M : matrix) : Prop := forall l, NoDup l -> (forall j, In j l -> (j < n)%nat) ->
  independent_columns m M l -> (length l <= r)%nat.

(* More unknowns than equations: there is a solution besides 0. *)
Lemma underdetermined k : forall n (A : matrix), (k < n)%nat -> exists x : vector,
  (exists j, (j < n)%nat /\ x j <> 0) /\ forall i, (i < k)%nat -> sum n (fun j => A i j * x j) = 0.
Proof. induction k as [|k IH]; intros n A N.
  { exists (fun _ => 1). split; [exists 0%nat; split; [lia|lra]|intros i I; lia]. }
  destruct (classic (exists p, (p < n)%nat /\ A k p <> 0)) as [(p & P & Ap)|Z].
  2:{ destruct (IH n A) as (x & X & S); [lia|]. exists x. split; [exact X|]. intros i I.
      destruct (Nat.eq_dec i k) as [->|]; [|apply S; lia]. apply sum_zero. intros j J.
      destruct (Req_dec (A k j) 0) as [->|Q]; [ring|]. exfalso. apply Z. exists j. auto. }
  (* without unknown p, which equation k gives: unknown j of the rest is number skip j *)
  destruct n as [|n]; [lia|].
  set (skip := fun j => if Nat.ltb j p then j else S j).
  assert (F : forall f, sum (S n) f = sum n (fun j => f (skip j)) + f p).
  { intro f. replace (S n) with (p + (1 + (n - p)))%nat by lia. rewrite !sum_app. replace n with (p + (n - p))%nat at 2 by lia.
    rewrite sum_app. simpl. rewrite Nat.add_0_r. rewrite (sum_ext p (fun j => f (skip j)) f).
    - rewrite (sum_ext (n - p) (fun i => f (skip (p + i)%nat)) (fun i => f (p + S i)%nat)); [ring|].
      intros i _. unfold skip. replace (Nat.ltb (p + i) p) with false by (symmetry; apply Nat.ltb_ge; lia). f_equal. lia.
    - intros j J. unfold skip. replace (Nat.ltb j p) with true by (symmetry; apply Nat.ltb_lt, J). reflexivity. }
  destruct (IH n (fun i j => A i (skip j) - A i p / A k p * A k (skip j))) as (x & (j & J & X) & Sol); [lia|].
  set (back := fun j => if Nat.ltb j p then x j else x (j - 1)%nat).
  set (y := fun j => if Nat.eqb j p then - sum n (fun j => A k (skip j) * x j) / A k p else back j).
  assert (Y : forall j, y (skip j) = x j).
  { intro e. unfold y, back, skip. destruct (Nat.ltb e p) eqn:L.
    - apply Nat.ltb_lt in L. replace (Nat.eqb e p) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (Nat.ltb e p) with true by (symmetry; apply Nat.ltb_lt, L). reflexivity.
    - apply Nat.ltb_ge in L. replace (Nat.eqb (S e) p) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (Nat.ltb (S e) p) with false by (symmetry; apply Nat.ltb_ge; lia). f_equal. lia. }
  assert (Yp : y p = - sum n (fun j => A k (skip j) * x j) / A k p) by (unfold y; rewrite Nat.eqb_refl; reflexivity).
  exists y. split.
  - exists (skip j). split; [unfold skip; destruct (Nat.ltb j p); lia|]. rewrite Y. exact X.
  - intros i I. rewrite F. rewrite (sum_ext n _ (fun j => A i (skip j) * x j)) by (intros; rewrite Y; reflexivity). rewrite Yp.
    destruct (Nat.eq_dec i k) as [->|].
    + field. exact Ap.
    + specialize (Sol i ltac:(lia)). cbv beta in Sol.
      rewrite (sum_ext n _ (fun j => A i (skip j) * x j - A i p / A k p * (A k (skip j) * x j))) in Sol by (intros; ring).
      rewrite sum_minus, sum_scal in Sol. apply Rminus_diag_uniq in Sol. rewrite Sol. field. exact Ap. Qed.
Lemma listed l f : sum_over l f = sum (length l) (fun e => f (nth e l 0%nat)).
Proof. induction l as [|j l IH]; [reflexivity|]. unfold sum_over in *. cbn [fold_right length]. rewrite IH.
  change (S (length l)) with (1 + length l)%nat. rewrite sum_app. simpl. ring. Qed.

Lemma product_rank m n r A B M : (forall i j, (i < m)%nat -> (j < n)%nat -> M i j = product r A B i j) -> rank_at_most m n r M.
Proof. intros P l ND In Ind. apply Nat.nlt_ge. intro L.
  destruct (underdetermined r (length l) (fun c e => B c (nth e l 0%nat))) as (x & (e & Le & X) & Sol); [exact L|].
  (* the number of column j in the list *)
  set (place := fix place (l : list nat) (j : nat) : nat := match l with [] => O | a :: r => if Nat.eqb a j then O else S (place r j) end).
  assert (Pl : forall e, (e < length l)%nat -> place l (nth e l 0%nat) = e).
  { clear - ND. induction ND as [|a l N ND IH]; intros e Le; [simpl in Le; lia|]. destruct e as [|e]; simpl.
    - rewrite Nat.eqb_refl. reflexivity.
    - simpl in Le. destruct (Nat.eqb a (nth e l 0%nat)) eqn:Q.
      + apply Nat.eqb_eq in Q. exfalso. apply N. rewrite Q. apply nth_In. lia.
      + rewrite IH by lia. reflexivity. }
  apply X. rewrite <- (Pl e Le). apply (Ind (fun j => x (place l j))); [|apply nth_In, Le].
  intros i I. rewrite (listed l (fun j => x (place l j) * M i j)).
  rewrite (sum_ext _ _ (fun e => sum r (fun c => A i c * (B c (nth e l 0%nat) * x e)))).
  - rewrite sum_swap. apply sum_zero. intros c C. rewrite sum_scal, (Sol c C). ring.
  - intros f Lf. rewrite (Pl f Lf), P; [|exact I|apply In, nth_In, Lf]. unfold product. rewrite <- sum_scal. apply sum_ext. intros. ring. Qed.

Lemma sum_over_ext l f g : (forall j, In j l -> f j = g j) -> sum_over l f = sum_over l g.
Proof. intro H. rewrite !listed. apply sum_ext. intros e Le. apply H, nth_In, Le. Qed.
Lemma sum_over_scal l f k : sum_over l (fun j => k * f j) = k * sum_over l f.
Proof. rewrite !listed. apply sum_scal. Qed.
(* Some independent columns give all of the first n as combinations. *)
Lemma basis m M n : exists l, NoDup l /\ (forall j, In j l -> (j < n)%nat) /\ independent_columns m M l
  /\ forall j, (j < n)%nat -> exists c : vector, forall i, (i < m)%nat -> M i j = sum_over l (fun b => c b * M i b).
Proof. induction n as [|n (l & ND & In & Ind & Sp)].
  { exists []. split; [constructor|]. split; [intros j []|]. split; [intros c _ j []|]. intros j J. lia. }
  destruct (classic (exists c : vector, forall i, (i < m)%nat -> M i n = sum_over l (fun b => c b * M i b))) as [(c & C)|N].
  - exists l. split; [exact ND|]. split; [intros j J; specialize (In j J); lia|]. split; [exact Ind|].
    intros j J. destruct (Nat.eq_dec j n) as [->|]; [exists c; exact C|]. apply Sp. lia.
  - assert (Nn : ~ List.In n l) by (intro H; specialize (In n H); lia).
    exists (n :: l). split; [constructor; assumption|]. split; [intros j [<-|J]; [lia|specialize (In j J); lia]|]. split.
    + intros c C. unfold sum_over in C. cbn [fold_right] in C. assert (Z : c n = 0).
      { destruct (Req_dec (c n) 0) as [Z|Z]; [exact Z|]. exfalso. apply N. exists (fun b => - / c n * c b). intros i I.
        specialize (C i I). fold (sum_over l (fun j => c j * M i j)) in C.
        rewrite (sum_over_ext l _ (fun b => - / c n * (c b * M i b))) by (intros; ring). rewrite sum_over_scal.
        replace (sum_over l (fun b => c b * M i b)) with (- (c n * M i n)) by lra. field. exact Z. }
      intros j [<-|J]; [exact Z|]. apply (Ind c); [|exact J]. intros i I. specialize (C i I). rewrite Z in C. unfold sum_over. lra.
    + intros j J. destruct (Nat.eq_dec j n) as [->|Ne].
      * exists (fun b => if Nat.eqb b n then 1 else 0). intros i _. unfold sum_over. cbn [fold_right]. rewrite Nat.eqb_refl.
        fold (sum_over l (fun b => (if Nat.eqb b n then 1 else 0) * M i b)).
        rewrite (sum_over_ext l _ (fun b => 0 * M i b)); [rewrite sum_over_scal; ring|]. intros b B.
        replace (Nat.eqb b n) with false; [reflexivity|]. symmetry. apply Nat.eqb_neq. intro Q. subst b. exact (Nn B).
      * destruct (Sp j ltac:(lia)) as (c & C). exists (fun b => if Nat.eqb b n then 0 else c b). intros i I. rewrite (C i I).
        unfold sum_over at 2. cbn [fold_right]. rewrite Nat.eqb_refl. fold (sum_over l (fun b => (if Nat.eqb b n then 0 else c b) * M i b)).
        rewrite Rmult_0_l, Rplus_0_l. apply sum_over_ext. intros b B.
        replace (Nat.eqb b n) with false; [reflexivity|]. symmetry. apply Nat.eqb_neq. intro Q. subst b. exact (Nn B). Qed.

Theorem rank : forall (dm dk : nat),
  (forall (X WQ WK : matrix) (i j : nat), let M := product dk WQ (transposed WK) in
     dot dk (product dm X WQ i) (product dm X WK j) = sum dm (fun a => sum dm (fun b => X i a * M a b * X j b))
     /\ rank_at_most dm dm dk M)
  /\ (forall M, rank_at_most dm dm dk M -> exists WQ WK : matrix,
      forall a b, (a < dm)%nat -> (b < dm)%nat -> M a b = product dk WQ (transposed WK) a b)
  /\ parameters [(dm, dk); (dm, dk)] = (2 * dm * dk)%nat
  /\ ((0 < dm)%nat -> (parameters [(dm, dk); (dm, dk)] < parameters [(dm, dm)])%nat <-> (2 * dk < dm)%nat).
Proof. intros dm dk. split; [|split; [|split]].
  - intros X WQ WK i j M. split; [|apply (product_rank dm dm dk WQ (transposed WK) M); reflexivity].
    unfold dot, M, product, transposed.
    rewrite (sum_ext dk _ (fun c => sum dm (fun a => sum dm (fun b => X i a * (WQ a c * WK b c) * X j b)))).
    2:{ intros c _. rewrite sum_product. apply sum_ext. intros a _. apply sum_ext. intros b _. ring. }
    rewrite sum_swap. apply sum_ext. intros a _. rewrite sum_swap. apply sum_ext. intros b _.
    rewrite sum_scal_r, sum_scal. reflexivity.
  - intros M Rk. destruct (basis dm M dm) as (l & ND & In & Ind & Sp). pose proof (Rk l ND In Ind) as L.
    assert (Ch : forall j, exists c : vector, (j < dm)%nat -> forall i, (i < dm)%nat -> M i j = sum_over l (fun b => c b * M i b)).
    { intro j. destruct (Nat.lt_ge_cases j dm) as [J|J]; [destruct (Sp j J) as (c & C); exists c; auto|].
      exists (fun _ => 0). intro W. lia. }
    assert (All : forall n, exists K : matrix, forall j, (j < n)%nat -> (j < dm)%nat -> forall i, (i < dm)%nat -> M i j = sum_over l (fun b => K j b * M i b)).
    { induction n as [|n (K & HK)]; [exists (fun _ _ => 0); intros; lia|]. destruct (Ch n) as (c & C).
      exists (fun j => if Nat.eqb j n then c else K j). intros j J Jd i I. destruct (Nat.eqb j n) eqn:Q.
      - apply Nat.eqb_eq in Q. subst j. apply C; assumption.
      - apply Nat.eqb_neq in Q. apply HK; [lia|exact Jd|exact I]. }
    destruct (All dm) as (K & HK).
    exists (fun a e => if Nat.ltb e (length l) then M a (nth e l 0%nat) else 0), (fun b e => K b (nth e l 0%nat)).
    intros a b A B. rewrite (HK b B B a A), listed. unfold product, transposed.
    replace dk with (length l + (dk - length l))%nat by lia. rewrite sum_app, (sum_zero (dk - length l)).
    + rewrite Rplus_0_r. apply sum_ext. intros e Le. replace (Nat.ltb e (length l)) with true by (symmetry; apply Nat.ltb_lt, Le). ring.
    + intros e _. replace (Nat.ltb (length l + e) (length l)) with false by (symmetry; apply Nat.ltb_ge; lia). ring.
  - unfold parameters. cbn [fold_right fst snd]. ring.
  - intro P. unfold parameters. cbn [fold_right fst snd]. nia. Qed.

(* Operations: a dot product of d numbers takes d multiplications and d - 1 additions. Rows times a
   matrix of a by b numbers are dot products of a numbers. *)
Definition dot_operations (d : nat) : nat := (d + (d - 1))%nat.
Definition projecting (rows_ a b : nat) : nat := (rows_ * b * dot_operations a)%nat.
Definition scoring (nq nk dk : nat) : nat := (nq * nk * dot_operations dk)%nat.
Definition unit_length (rows_ d : nat) : nat := (rows_ * (dot_operations d + 1 + d))%nat.   (* the norm has one root; d divisions *)
(* for each pair da additions and da times tanh, then the product with w *)
Definition hidden (nq nk da : nat) : nat := (nq * nk * da)%nat.
Definition adding (nq nk da : nat) : nat := (2 * hidden nq nk da + scoring nq nk da)%nat.
Theorem cost : forall nq nk dq dk da : nat, (0 < dq)%nat -> (0 < dk)%nat -> (0 < da)%nat ->
  (scoring nq nk dk = nq * nk * (2 * dk - 1)
   /\ scoring nq nk dk + nq * nk + 1 = nq * nk * (2 * dk) + 1
   /\ unit_length nq dk + unit_length nk dk + scoring nq nk dk = nq * nk * (2 * dk - 1) + 3 * dk * (nq + nk)
   /\ projecting nq dq dk + scoring nq nk dk = nq * dk * (2 * dq - 1) + nq * nk * (2 * dk - 1)
   /\ projecting nq dq da + projecting nk dk da + adding nq nk da
       = nq * da * (2 * dq - 1) + nk * da * (2 * dk - 1) + nq * nk * (4 * da - 1)
   /\ parameters [(dq, dk)] = dq * dk /\ parameters [(dq, da); (dk, da); (da, 1)] = da * (dq + dk + 1)
   /\ hidden nq nk da = da * (nq * nk))%nat.
Proof. intros nq nk dq dk da Q K A. unfold adding, unit_length, projecting, hidden, scoring, dot_operations, parameters.
  destruct dq as [|q]; [lia|]. destruct dk as [|k]; [lia|]. destruct da as [|a]; [lia|].
  replace (2 * S q - 1)%nat with (2 * q + 1)%nat by lia. replace (2 * S k - 1)%nat with (2 * k + 1)%nat by lia.
  replace (4 * S a - 1)%nat with (4 * a + 3)%nat by lia. replace (S q - 1)%nat with q by lia. replace (S k - 1)%nat with k by lia.
  replace (S a - 1)%nat with a by lia. cbn [fold_right fst snd].
  split; [ring|]. split; [ring|]. split; [ring|]. split; [ring|]. split; [ring|]. split; [ring|]. split; ring. Qed.
