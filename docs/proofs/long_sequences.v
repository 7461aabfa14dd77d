(* Texts longer than any that was trained on. *)
From Attention Require Import Basics masking positions language_model scaling.

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

(* The task: a token has a letter and a digit, and asks for the digit of the latest token with some
   letter, itself among them. Token t asks here. An answer is right if it is that digit; where no token
   matches there is nothing to answer, and nothing counts as right. *)
Record token := { letter : nat; digit : nat; question : nat }.
Definition text := nat -> token.
Definition matches (t : nat) (X : text) (j : nat) : bool := Nat.eqb (letter (X j)) (question (X t)).
Definition latest (t : nat) (X : text) (j : nat) : bool :=
  andb (matches t X j) (forallb (fun m => negb (matches t X m)) (seq (S j) (t - S j))).
Definition hit (a b : nat) : R := if Nat.eqb a b then 1 else 0.
Definition right (t : nat) (X : text) (answer : nat) : R :=
  if matches t X t then hit answer (digit (X t)) else sum t (fun j => if latest t X j then hit answer (digit (X j)) else 0).
(* Tokens 0 to t - 1 in another order *)
Definition shuffled (t : nat) (p : nat -> nat) (X : text) : text := fun i => if Nat.ltb i t then X (p i) else X i.
Definition blind (t : nat) (f : text -> nat) : Prop := forall p p' X, permutation t p p' -> f (shuffled t p X) = f X.
(* How many of the matching tokens before t have a digit *)
Definition votes (t : nat) (X : text) (a : nat) : R := sum t (fun j => if matches t X j then hit a (digit (X j)) else 0).
Definition best_guess (t : nat) (most : text -> nat) (X : text) : nat := if matches t X t then digit (X t) else most X.

Lemma latest_once t X : sum t (fun j => if latest t X j then 1 else 0) = if existsb (matches t X) (seq 0 t) then 1 else 0.
Proof. assert (G : forall n, (n <= t)%nat -> sum n (fun j => if andb (matches t X j) (forallb (fun m => negb (matches t X m)) (seq (S j) (n - S j))) then 1 else 0)
    = if existsb (matches t X) (seq 0 n) then 1 else 0).
  { induction n as [|n IH]; intro N; [reflexivity|]. rewrite seq_S, existsb_app. cbn [sum Nat.add existsb]. rewrite Bool.orb_false_r.
    replace (S n - S n)%nat with 0%nat by lia. cbn [seq forallb]. rewrite Bool.andb_true_r.
    assert (Sp : forall j, (j < n)%nat -> forallb (fun m => negb (matches t X m)) (seq (S j) (S n - S j))
      = andb (forallb (fun m => negb (matches t X m)) (seq (S j) (n - S j))) (negb (matches t X n))).
    { intros j J. replace (S n - S j)%nat with (S (n - S j)) by lia. rewrite seq_S, forallb_app. cbn [forallb].
      replace (S j + (n - S j))%nat with n by lia. rewrite Bool.andb_true_r. reflexivity. }
    destruct (matches t X n) eqn:M.
    - rewrite Bool.orb_true_r. rewrite sum_zero; [ring|]. intros j J. rewrite Sp by exact J. rewrite !Bool.andb_false_r. reflexivity.
    - rewrite Bool.orb_false_r, Rplus_0_r. rewrite <- (IH ltac:(lia)). apply sum_ext. intros j J. rewrite Sp by exact J. rewrite Bool.andb_true_r. reflexivity. }
  exact (G t (Nat.le_refl t)). Qed.
(* The number of matching tokens before t *)
Definition asked (t : nat) (X : text) : R := sum t (fun j => if matches t X j then 1 else 0).
Lemma asked_pos t X j : (j < t)%nat -> matches t X j = true -> 0 < asked t X.
Proof. intros J M. pose proof (sum_term t (fun j => if matches t X j then 1 else 0) j J) as Q. cbv beta in Q. rewrite M in Q.
  apply Rlt_le_trans with 1; [lra|]. apply Q. intros i _. destruct (matches t X i); lra. Qed.
Lemma latest_matches t X j : latest t X j = true -> matches t X j = true.
Proof. unfold latest. intro H. apply andb_prop in H. apply H. Qed.

Lemma shuffled_last t p Y : shuffled t p Y t = Y t.
Proof. unfold shuffled. rewrite Nat.ltb_irrefl. reflexivity. Qed.
Lemma shuffled_swap t k m Y j : (k < t)%nat -> (m < t)%nat -> shuffled t (swap k m) Y j = Y (swap k m j).
Proof. intros K M. unfold shuffled. destruct (Nat.ltb j t) eqn:L; [reflexivity|]. apply Nat.ltb_ge in L. f_equal. unfold swap.
  replace (Nat.eqb j k) with false by (symmetry; apply Nat.eqb_neq; lia).
  replace (Nat.eqb j m) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. Qed.
(* two matching tokens change places: all that can be seen is which digit stands where *)
Lemma swapped_pattern t k m Y : (k < t)%nat -> (m < t)%nat ->
  andb (matches t (shuffled t (swap k m) Y) k) (matches t (shuffled t (swap k m) Y) m) = andb (matches t Y k) (matches t Y m)
  /\ (matches t Y k = true -> matches t Y m = true -> forall j, matches t (shuffled t (swap k m) Y) j = matches t Y j).
Proof. intros K M. assert (A : forall j, matches t (shuffled t (swap k m) Y) j = matches t Y (swap k m j)).
  { intro j. unfold matches. rewrite shuffled_last, shuffled_swap by assumption. reflexivity. }
  split.
  - rewrite !A. unfold swap. rewrite !Nat.eqb_refl. destruct (Nat.eqb_spec m k) as [->|N]; [reflexivity|apply Bool.andb_comm].
  - intros Hk Hm j. rewrite A. unfold swap. destruct (Nat.eqb_spec j k) as [->|]; [congruence|]. destruct (Nat.eqb_spec j m) as [->|]; congruence. Qed.
Lemma latest_pattern t Y Z j : (forall i, matches t Y i = matches t Z i) -> latest t Y j = latest t Z j.
Proof. intro H. unfold latest. rewrite H. f_equal. induction (seq (S j) (t - S j)) as [|i l IH]; [reflexivity|]. cbn [forallb]. rewrite H, IH. reflexivity. Qed.

Lemma averaged P t (X : nat -> text) (f : text -> nat) : blind t f ->
  (forall p p' (F : text -> R), permutation t p p' -> E P (fun w => F (shuffled t p (X w))) = E P (fun w => F (X w))) ->
  E P (fun w => right t (X w) (f (X w)))
  = E P (fun w => if matches t (X w) t then hit (f (X w)) (digit (X w t)) else votes t (X w) (f (X w)) / asked t (X w)).
Proof. intros B Ex.
  set (F := fun k m Y => if matches t Y t then 0 else if andb (latest t Y k) (matches t Y m) then hit (f Y) (digit (Y k)) / asked t Y else 0).
  set (G := fun k m Y => if matches t Y t then 0 else if andb (latest t Y k) (matches t Y m) then hit (f Y) (digit (Y m)) / asked t Y else 0).
  assert (Sw : forall k m Y, (k < t)%nat -> (m < t)%nat -> F k m (shuffled t (swap k m) Y) = G k m Y).
  { intros k m Y K M. destruct (swapped_pattern t k m Y K M) as [A1 A2].
    pose proof (swap_permutes t k m K M) as Pm. unfold F, G.
    replace (matches t (shuffled t (swap k m) Y) t) with (matches t Y t) by (unfold matches; rewrite shuffled_last; reflexivity).
    destruct (matches t Y t); [reflexivity|].
    destruct (andb (matches t Y k) (matches t Y m)) eqn:Both.
    - apply andb_prop in Both. destruct Both as [Hk Hm]. specialize (A2 Hk Hm).
      rewrite (latest_pattern t (shuffled t (swap k m) Y) Y k A2), A2, (B _ _ Y Pm), shuffled_swap by assumption.
      unfold swap at 1. rewrite Nat.eqb_refl. replace (asked t (shuffled t (swap k m) Y)) with (asked t Y); [reflexivity|].
      apply sum_ext. intros j _. rewrite A2. reflexivity.
    - assert (Zero : forall Z, andb (matches t Z k) (matches t Z m) = false -> andb (latest t Z k) (matches t Z m) = false).
      { intros Z H. destruct (latest t Z k) eqn:Lk; [|reflexivity]. rewrite (latest_matches t Z k Lk) in H. exact H. }
      rewrite (Zero Y Both), (Zero _ A1). reflexivity. }
  assert (L : forall Y, right t Y (f Y) = (if matches t Y t then hit (f Y) (digit (Y t)) else 0) + sum t (fun k => sum t (fun m => F k m Y))).
  { intro Y. unfold right, F. destruct (matches t Y t).
    - rewrite sum_zero; [ring|]. intros. apply sum_zero. reflexivity.
    - rewrite Rplus_0_l. apply sum_ext. intros k K. destruct (latest t Y k) eqn:Lk; cbn [andb]; [|symmetry; apply sum_zero; reflexivity].
      pose proof (asked_pos t Y k K (latest_matches t Y k Lk)) as Pa.
      rewrite (sum_ext t _ (fun m => (if matches t Y m then 1 else 0) * (hit (f Y) (digit (Y k)) / asked t Y))).
      + rewrite sum_scal_r. fold (asked t Y). field. lra.
      + intros m _. destruct (matches t Y m); ring. }
  assert (Rr : forall Y, (if matches t Y t then hit (f Y) (digit (Y t)) else votes t Y (f Y) / asked t Y)
    = (if matches t Y t then hit (f Y) (digit (Y t)) else 0) + sum t (fun k => sum t (fun m => G k m Y))).
  { intro Y. unfold G. destruct (matches t Y t).
    - rewrite sum_zero; [ring|]. intros. apply sum_zero. reflexivity.
    - rewrite Rplus_0_l, sum_swap. unfold votes. rewrite <- sum_div. apply sum_ext. intros m M. destruct (matches t Y m) eqn:Hm.
      + rewrite (sum_ext t _ (fun k => (if latest t Y k then 1 else 0) * (hit (f Y) (digit (Y m)) / asked t Y))).
        * rewrite sum_scal_r, latest_once. replace (existsb (matches t Y) (seq 0 t)) with true; [ring|]. symmetry. apply existsb_exists.
          exists m. split; [apply in_seq; lia|exact Hm].
        * intros k _. rewrite Bool.andb_true_r. destruct (latest t Y k); ring.
      + symmetry. rewrite sum_zero; [unfold Rdiv; ring|]. intros k _. rewrite Bool.andb_false_r. reflexivity. }
  rewrite (E_ext P _ _ (fun w => L (X w))), (E_ext P (fun w => if matches t (X w) t then _ else _) _ (fun w => Rr (X w))).
  rewrite !E_plus. f_equal. rewrite !E_sum. apply sum_ext. intros k K. rewrite !E_sum. apply sum_ext. intros m M.
  rewrite <- (Ex _ _ (F k m) (swap_permutes t k m K M)). apply E_ext. intro w. apply Sw; assumption. Qed.

Theorem order : forall (t dm d : nat) (embed : token -> vector) (WQ WK WV : matrix) (choose : vector -> vector -> nat)
    (P : space) (X : nat -> text) (most : text -> nat),
  let output Y := layer (S t) dm d causal WQ WK WV (fun i => embed (Y i)) t in
  let answer Y := choose (embed (Y t)) (output Y) in
  (forall p p' Y, permutation t p p' -> output (shuffled t p Y) = output Y)
  /\ ((forall p p' (F : text -> R), permutation t p p' -> E P (fun w => F (shuffled t p (X w))) = E P (fun w => F (X w))) ->
      blind t most -> (forall Y a, votes t Y a <= votes t Y (most Y)) ->
      E P (fun w => right t (X w) (answer (X w))) <= E P (fun w => right t (X w) (best_guess t most (X w)))).
Proof. intros t dm d embed WQ WK WV choose P X most output answer.
  assert (Bo : forall p p' Y, permutation t p p' -> output (shuffled t p Y) = output Y).
  { intros p p' Y Pm. unfold output. apply functional_extensionality. intro c.
    destruct (prefix (S t) dm d WQ WK WV (fun i => embed (shuffled t p Y i)) t c ltac:(lia)) as [_ ->].
    destruct (prefix (S t) dm d WQ WK WV (fun i => embed (Y i)) t c ltac:(lia)) as [_ ->].
    pose proof (one_layer t (fun _ x y => dot d (fun b => sum dm (fun e => x e * WQ e b)) (fun b => sum dm (fun e => y e * WK e b)) / sqrt (INR d))
      (fun _ x b => sum dm (fun e => x e * WV e b)) (fun _ o => o 0%nat) (fun i => embed (Y i)) p p' Pm) as Q.
    change (let layer_of Z := attention (S t) d (product dm Z WQ) (product dm Z WK) (product dm Z WV) t in
      layer_of (reordered_before t p (fun i => embed (Y i))) = layer_of (fun i => embed (Y i))) in Q. cbv zeta in Q.
    apply (f_equal (fun f => f c)) in Q. rewrite <- Q. f_equal.
    all: apply functional_extensionality; intro i; unfold product, reordered_before, shuffled; destruct (Nat.ltb i t); reflexivity. }
  split; [exact Bo|]. intros Ex Bm Mo.
  assert (Ba : blind t answer) by (intros p p' Y Pm; unfold answer; rewrite (Bo p p' Y Pm), shuffled_last; reflexivity).
  assert (Bb : blind t (best_guess t most)).
  { intros p p' Y Pm. unfold best_guess. replace (matches t (shuffled t p Y) t) with (matches t Y t) by (unfold matches; rewrite shuffled_last; reflexivity).
    rewrite shuffled_last, (Bm p p' Y Pm). reflexivity. }
  rewrite (averaged P t X answer Ba Ex), (averaged P t X _ Bb Ex). unfold E. apply sum_le. intros w _.
  apply Rmult_le_compat_l; [apply chance_nonneg|]. unfold best_guess. destruct (matches t (X w) t).
  - unfold hit at 2. rewrite Nat.eqb_refl. unfold hit. destruct (Nat.eqb _ _); lra.
  - destruct (Req_dec (asked t (X w)) 0) as [Z|Z]; [rewrite Z; unfold Rdiv; rewrite Rinv_0; lra|].
    assert (0 <= asked t (X w)) by (apply sum_nonneg; intros j _; destruct (matches t (X w) j); lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|apply Mo]. Qed.
