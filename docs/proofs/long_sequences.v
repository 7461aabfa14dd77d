(* Texts longer than any that was trained on. *)
From Attention Require Import Basics masking positions.

(* Key 0 leads all others, which have the score s, by g. *)
Definition lead (g : R) : vector := fun j => match j with O => g | _ => 0 end.
Definition leads (s g : R) : vector := fun j => lead g j + s.
Lemma leader n s g : (1 <= n)%nat -> softmax n (leads s g) 0%nat = 1 / (1 + (INR n - 1) * exp (- g)).
Proof. intro N. unfold leads. rewrite softmax_shift by lia. unfold softmax. rewrite (sum_others n 0) by lia. simpl lead at 1 2.
  replace (others n 0 (fun j => exp (lead g j))) with ((INR n - 1) * 1).
  - rewrite exp_Ropp. pose proof (exp_pos g). assert (INR 1 <= INR n) by (apply le_INR; lia). simpl in *.
    assert (0 <= (INR n - 1) * / exp g) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
    field. split; [lra|]. assert ((INR n - 1) * / exp g * exp g = INR n - 1) by (field; lra). nra.
  - rewrite <- (others_const n 0) by lia. apply sum_ext. intros j _. destruct j; simpl; [reflexivity|].
    symmetry. apply exp_0. Qed.
(* A key that leads n - 1 equal others by g; to keep its weight among n' keys it leads by g'. *)
Theorem dilution : forall (n n' : nat) (s s' g g' : R), (1 < n)%nat -> (n < n')%nat ->
  softmax n (leads s g) 0%nat = 1 / (1 + (INR n - 1) * exp (- g))
  /\ (softmax n' (leads s' g') 0%nat = softmax n (leads s g) 0%nat <-> g' = g + ln ((INR n' - 1) / (INR n - 1))).
Proof. intros n n' s s' g g' N N'. split; [apply leader; lia|]. rewrite !leader by lia.
  apply lt_INR in N. apply lt_INR in N'. simpl in N.
  assert (Q : 0 < (INR n' - 1) / (INR n - 1)) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_pos (- g)). pose proof (exp_pos (- g')).
  assert (0 < (INR n - 1) * exp (- g)) by nra. assert (0 < (INR n' - 1) * exp (- g')) by nra. split.
  - intro Eq. assert ((INR n' - 1) * exp (- g') = (INR n - 1) * exp (- g)) as Eq'.
    { unfold Rdiv in Eq. rewrite !Rmult_1_l in Eq. apply (f_equal Rinv) in Eq. rewrite !Rinv_inv in Eq. lra. }
    assert (exp (g' - g) = (INR n' - 1) / (INR n - 1)) as D.
    { unfold Rminus. rewrite exp_plus, (exp_Ropp g). rewrite !exp_Ropp in Eq'.
      pose proof (exp_pos g). pose proof (exp_pos g').
      apply (Rmult_eq_reg_r (/ exp g')); [|apply Rinv_neq_0_compat; lra].
      replace (exp g' * / exp g * / exp g') with (/ exp g) by (field; lra).
      apply (Rmult_eq_reg_l (INR n - 1)); [|lra]. rewrite <- Eq'. field. lra. }
    rewrite <- D, ln_exp. ring.
  - intros ->. f_equal. f_equal. rewrite Ropp_plus_distr, exp_plus, (exp_Ropp (ln _)), exp_ln by exact Q. field. lra. Qed.

(* ALiBi: key m lies m tokens back and gets the bias - slope * m; the keys w or more back together *)
Theorem alibi : forall (n w : nat) (slope c : R) (s : vector), 0 < slope -> (0 < n)%nat ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> s i - s j <= c) ->
  sum n (fun m => if Nat.leb w m then softmax n (fun m => s m - slope * INR m) m else 0) <= exp (c - slope * INR w).
Proof. intros n w slope c s _ N C. set (e := fun m => exp (s m - slope * INR m)).
  assert (P : 0 < sum n e) by (apply sum_pos; [exact N|intros; apply exp_pos]).
  rewrite (sum_ext n _ (fun m => (if Nat.leb w m then e m else 0) / sum n e)).
  2:{ intros m _. destruct (Nat.leb w m); [reflexivity|unfold Rdiv; ring]. }
  rewrite sum_div. apply (Rmult_le_reg_r (sum n e)); [exact P|].
  replace (sum n (fun m => if Nat.leb w m then e m else 0) / sum n e * sum n e)
    with (sum n (fun m => if Nat.leb w m then e m else 0)) by (field; lra).
  pose proof (exp_pos (c - slope * INR w)).
  destruct (Nat.le_gt_cases w n) as [W|W].
  - replace n with (w + (n - w))%nat at 1 by lia. rewrite sum_app, (sum_zero w), Rplus_0_l.
    2:{ intros m M. replace (Nat.leb w m) with false; [reflexivity|]. symmetry. apply Nat.leb_gt, M. }
    apply Rle_trans with (exp (c - slope * INR w) * sum (n - w) e).
    + rewrite <- sum_scal. apply sum_le. intros m M. replace (Nat.leb w (w + m)) with true by (symmetry; apply Nat.leb_le; lia).
      unfold e. rewrite <- exp_plus, plus_INR. specialize (C (w + m)%nat m ltac:(lia) ltac:(lia)).
      assert (s (w + m)%nat - slope * (INR w + INR m) <= c - slope * INR w + (s m - slope * INR m)) as L by lra.
      destruct (Rle_lt_or_eq_dec _ _ L) as [L'| ->]; [left; apply exp_increasing, L'|right; reflexivity].
    + apply Rmult_le_compat_l; [lra|]. replace n with (n - w + w)%nat at 2 by lia. rewrite sum_app.
      assert (0 <= sum w (fun i => e (n - w + i)%nat)) by (apply sum_nonneg; intros; left; apply exp_pos). lra.
  - rewrite sum_zero; [nra|]. intros m M. replace (Nat.leb w m) with false; [reflexivity|]. symmetry. apply Nat.leb_gt. lia. Qed.

(* The base that NTK scaling takes for texts that are lambda times as long *)
Definition ntk_base (base lambda : R) (d : nat) : R := base * Rpower lambda (INR d / (INR d - 2)).
Theorem slower : forall (base lambda L : R) (d : nat), 0 < base -> 1 < lambda -> 0 < L -> (4 <= d)%nat -> Nat.Even d ->
  forall i, (i < d / 2)%nat ->
  (forall t, 0 <= t < lambda * L -> frequency base d i * (t / lambda) < frequency base d i * L)
  /\ ((forall t, 0 <= t < lambda * L -> frequency (ntk_base base lambda d) d i * t < frequency base d i * L)
      <-> i = (d / 2 - 1)%nat).
Proof. intros base lambda L d B G PL D [m Hm] i I. subst d. replace (2 * m / 2)%nat with m in * by (rewrite Nat.mul_comm, Nat.div_mul; lia).
  assert (Pm : 2 <= INR m) by (change 2 with (INR 2); apply le_INR; lia).
  assert (Ed : INR (2 * m) = 2 * INR m) by (rewrite mult_INR; reflexivity).
  assert (Pf : forall b, 0 < frequency b (2 * m) i) by (intro; apply exp_pos).
  assert (Lg : 0 < ln lambda) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (F : frequency (ntk_base base lambda (2 * m)) (2 * m) i = frequency base (2 * m) i * Rpower lambda (- (INR i / (INR m - 1)))).
  { unfold frequency, ntk_base. unfold Rpower at 1.
    rewrite ln_mult by (try assumption; apply exp_pos). unfold Rpower. rewrite ln_exp, <- exp_plus. f_equal. rewrite Ed. field. lra. }
  split.
  - intros t [T0 T]. apply Rmult_lt_compat_l; [apply Pf|]. apply (Rmult_lt_reg_r lambda); [lra|].
    replace (t / lambda * lambda) with t by (field; lra). lra.
  - rewrite F. set (f := Rpower lambda (- (INR i / (INR m - 1)))). assert (P : 0 < f) by apply exp_pos.
    assert (E1 : Rpower lambda (-1) = / lambda).
    { replace (-1) with (- (1)) by ring. rewrite Rpower_Ropp, Rpower_1; [reflexivity|lra]. }
    split.
    + intro H. apply Nat.le_antisymm; [lia|]. apply Nat.nlt_ge. intro N.
      assert (Q : / lambda < f).
      { rewrite <- E1. apply Rpower_lt; [exact G|]. assert (INR i < INR m - 1).
        { apply (Rplus_lt_reg_r 1). replace (INR m - 1 + 1) with (INR m) by ring. rewrite <- S_INR. apply lt_INR. lia. }
        assert (INR i / (INR m - 1) < 1); [|lra]. apply (Rmult_lt_reg_r (INR m - 1)); [lra|].
        replace (INR i / (INR m - 1) * (INR m - 1)) with (INR i) by (field; lra). lra. }
      specialize (H (L / f)). rewrite Rmult_assoc in H. replace (f * (L / f)) with L in H by (field; lra).
      apply (Rlt_irrefl (frequency base (2 * m) i * L)), H. split.
      * left. apply Rdiv_lt_0_compat; assumption.
      * apply (Rmult_lt_reg_r f); [exact P|]. replace (L / f * f) with L by (field; lra).
        assert (1 < lambda * f); [|nra]. apply (Rmult_lt_reg_l (/ lambda)); [apply Rinv_0_lt_compat; lra|].
        replace (/ lambda * (lambda * f)) with f by (field; lra). lra.
    + intros -> t [T0 T]. assert (f = / lambda) as ->.
      { unfold f. rewrite minus_INR by lia. simpl (INR 1). replace (- ((INR m - 1) / (INR m - 1))) with (-1) by (field; lra). exact E1. }
      rewrite Rmult_assoc. apply Rmult_lt_compat_l; [apply Pf|]. apply (Rmult_lt_reg_l lambda); [lra|].
      replace (lambda * (/ lambda * t)) with t by (field; lra). exact T. Qed.

(* A mark, and identical tokens behind it, under a causal mask and without positions; v0 and v1 are
   the values, of dv numbers. *)
Theorem mark : forall (n dm d dv : nat) (WQ WK WV X : matrix), (2 <= n)%nat -> (forall j, (0 < j)%nat -> X j = X 1%nat) ->
  let out := layer n dm d causal WQ WK WV X in
  let v0 := product dm X WV 0%nat in let v1 := product dm X WV 1%nat in
  (forall t t', (t < n)%nat -> (t' < n)%nat -> t <> t' -> exists c, (c < dv)%nat /\ out t c <> out t' c)
  <-> (exists c, (c < dv)%nat /\ v0 c <> v1 c).
Proof. intros n dm d dv WQ WK WV X N Same out v0 v1.
  set (s := fun j => scores d (product dm X WQ) (product dm X WK) 1%nat j). set (g := s 1%nat - s 0%nat).
  assert (Row : forall W j, (0 < j)%nat -> product dm X W j = product dm X W 1%nat).
  { intros W j J. unfold product. rewrite (Same j J). reflexivity. }
  assert (O : forall t c, (t < n)%nat -> out t c = v1 c + 1 / (1 + INR t * exp g) * (v0 c - v1 c)).
  { intros t c T. unfold out. destruct (prefix n dm d WQ WK WV X t c T) as [_ ->]. unfold attention, average.
    assert (Hd : forall f, sum (S t) f = f 0%nat + sum t (fun j => f (S j))).
    { intro f. change (S t) with (1 + t)%nat. rewrite sum_app. simpl. ring. }
    rewrite Hd. destruct t as [|t].
    - simpl. unfold softmax. simpl. fold v0. rewrite !Rplus_0_l, Rmult_0_l, !Rplus_0_r.
      pose proof (exp_pos (scores d (product dm X WQ) (product dm X WK) 0%nat 0%nat)). field. lra.
    - assert (Sc : forall j, scores d (product dm X WQ) (product dm X WK) (S t) j = s j).
      { intro j. unfold s, scores. rewrite (Row WQ (S t)) by lia. reflexivity. }
      assert (Sj : forall j, s (S j) = s 1%nat) by (intro j; unfold s, scores; rewrite (Row WK (S j)) by lia; reflexivity).
      unfold softmax. rewrite !Sc, Hd. rewrite (sum_ext (S t) (fun j => exp (scores _ _ _ (S t) (S j))) (fun _ => exp (s 1%nat))) by (intros; rewrite Sc, Sj; reflexivity).
      rewrite Sc. rewrite sum_const.
      rewrite (sum_ext (S t) _ (fun _ => exp (s 1%nat) / (exp (s 0%nat) + INR (S t) * exp (s 1%nat)) * v1 c)).
      2:{ intros j _. rewrite Sc, Sj, (Row WV (S j)) by lia. reflexivity. }
      rewrite sum_const. fold v0. unfold g, Rminus at 1. rewrite exp_plus, exp_Ropp. pose proof (exp_pos (s 0%nat)). pose proof (exp_pos (s 1%nat)).
      assert (0 <= INR (S t)) by apply pos_INR. field. split; nra. }
  pose proof (exp_pos g) as Pg. split.
  - intro H. destruct (H 0%nat 1%nat) as (c & C & Ne); [lia|lia|lia|]. exists c. split; [exact C|]. intro Q. apply Ne.
    rewrite !O, Q by lia. ring.
  - intros (c & C & Ne) t t' T T' D. exists c. split; [exact C|]. rewrite !O by assumption. intro Q. apply D, INR_eq.
    pose proof (pos_INR t). pose proof (pos_INR t').
    assert (A : 1 / (1 + INR t * exp g) = 1 / (1 + INR t' * exp g)).
    { apply (Rmult_eq_reg_r (v0 c - v1 c)); [lra|]. intro Z. apply Ne. lra. }
    assert (0 < 1 + INR t * exp g) by nra. assert (0 < 1 + INR t' * exp g) by nra.
    apply (f_equal Rinv) in A. unfold Rdiv in A. rewrite !Rmult_1_l, !Rinv_inv in A. nra. Qed.

(* Scores that depend on both rows and on the offset alone; the last L keys are seen. *)
Definition offset_layer (n : nat) (mask : nat -> nat -> bool) (score : vector -> vector -> nat -> R) (value : vector -> vector) (X : matrix) : matrix :=
  fun i => average n (masked_softmax n (mask i) (fun j => score (X i) (X j) (i - j)%nat)) (fun j => value (X j)).
Definition last_keys (L i j : nat) : bool := andb (causal i j) (Nat.ltb i (j + L)).
Theorem window : forall (n L t : nat) (score : vector -> vector -> nat -> R) (value : vector -> vector) (X : matrix),
  (0 < L)%nat -> (L <= t + 1)%nat -> (t < n)%nat ->
  offset_layer n (last_keys L) score value X t
  = offset_layer L causal score value (fun j => X (t + 1 - L + j)%nat) (L - 1)%nat.
Proof. intros n L t score value X PL H T. apply functional_extensionality. intro c.
  assert (A : exists a, a = (t + 1 - L)%nat /\ (a + L = t + 1)%nat) by (eexists; split; [reflexivity|lia]).
  destruct A as (a & <- & A). unfold offset_layer, average, masked_softmax, masked_exp.
  assert (W : forall f, sum n (fun j => if last_keys L t j then f j else 0) = sum L (fun j => f (a + j)%nat)).
  { intro f. replace n with (a + L + (n - (a + L)))%nat by (lia). rewrite !sum_app, (sum_zero a), (sum_zero (n - _)).
    - rewrite Rplus_0_l, Rplus_0_r. apply sum_ext. intros m M. unfold last_keys, causal.
      replace (Nat.leb (a + m) t) with true by (symmetry; apply Nat.leb_le; lia).
      replace (Nat.ltb t (a + m + L)) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
    - intros m _. unfold last_keys, causal. replace (Nat.leb (a + L + m) t) with false; [reflexivity|]. symmetry. apply Nat.leb_gt. lia.
    - intros m M. unfold last_keys. replace (Nat.ltb t (m + L)) with false; [rewrite Bool.andb_false_r; reflexivity|].
      symmetry. apply Nat.ltb_ge. lia. }
  assert (C : forall f, sum L (fun j => if causal (L - 1) j then f j else 0) = sum L f).
  { intro f. apply sum_ext. intros j J. unfold causal. replace (Nat.leb j (L - 1)) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
  rewrite (W (fun j => exp (score (X t) (X j) (t - j)%nat))).
  rewrite (C (fun j => exp (score (X (a + (L - 1))%nat) (X (a + j)%nat) (L - 1 - j)%nat))).
  replace (a + (L - 1))%nat with t by (lia).
  rewrite (sum_ext L (fun j => exp (score (X t) (X (a + j)%nat) (L - 1 - j)%nat)) (fun j => exp (score (X t) (X (a + j)%nat) (t - (a + j))%nat))).
  2:{ intros j J. f_equal. f_equal. lia. }
  set (Z := sum L (fun j => exp (score (X t) (X (a + j)%nat) (t - (a + j))%nat))).
  transitivity (sum n (fun j => if last_keys L t j then exp (score (X t) (X j) (t - j)%nat) / Z * value (X j) c else 0)).
  { apply sum_ext. intros j _. destruct (last_keys L t j); [reflexivity|unfold Rdiv; ring]. }
  rewrite W. symmetry. transitivity (sum L (fun j => if causal (L - 1) j then exp (score (X t) (X (a + j)%nat) (L - 1 - j)%nat) / Z * value (X (a + j)%nat) c else 0)).
  { apply sum_ext. intros j _. destruct (causal (L - 1) j); [reflexivity|unfold Rdiv; ring]. }
  rewrite C. apply sum_ext. intros j J. do 4 f_equal. lia. Qed.
