(* Errors of scores, and what they do to weights. *)
From Attention Require Import Basics.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [L| ->]; [left; apply exp_increasing, L|right; reflexivity]. Qed.

Lemma sharp delta : 0 <= delta -> forall F, F < exp (2 * delta) -> exists s t : vector,
  (forall m, (m < 2)%nat -> Rabs (t m - s m) <= delta) /\ F < softmax 2 t O / softmax 2 s O.
Proof. intros D F H. set (G := exp (2 * delta)) in *. assert (PG : 0 < G) by apply exp_pos.
  set (y := (G - F) / (G * G + 1)). assert (Py : 0 < y) by (apply Rdiv_lt_0_compat; nra).
  exists (fun m => match m with O => ln y | _ => 0 end), (fun m => match m with O => ln y + delta | _ => - delta end). split.
  - intros [|m] _; apply Rabs_le; lra.
  - unfold softmax. simpl. rewrite exp_plus, exp_ln, exp_0 by exact Py.
    pose proof (exp_pos delta) as Pe. pose proof (exp_pos (- delta)) as Pf.
    assert (I : exp delta * exp (- delta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (Gd : G = exp delta * exp delta) by (unfold G; rewrite <- exp_plus; f_equal; ring).
    assert (Ef : exp (- delta) = / exp delta) by apply exp_Ropp.
    replace (y * exp delta / (0 + y * exp delta + exp (- delta)) / (y / (0 + y + 1))) with ((y + 1) * G / (y * G + 1)).
    2:{ rewrite Gd, Ef. field. repeat split; nra. }
    assert (y * (G * G + 1) = G - F) by (unfold y; field; nra).
    assert (0 < y * G + 1) by nra. apply (Rmult_lt_reg_r (y * G + 1)); [lra|].
    replace ((y + 1) * G / (y * G + 1) * (y * G + 1)) with ((y + 1) * G) by (field; lra).
    assert (y * G * F < y * G * G) by (apply Rmult_lt_compat_l; nra). nra. Qed.

(* The second part: no smaller factor will do for all scores. *)
Theorem factors : forall (n : nat) (delta : R) (s t : vector) (j : nat), (j < n)%nat -> 0 <= delta ->
  (forall m, (m < n)%nat -> Rabs (t m - s m) <= delta) ->
  exp (- 2 * delta) <= softmax n t j / softmax n s j <= exp (2 * delta)
  /\ (forall F, F < exp (2 * delta) -> exists s' t' : vector,
        (forall m, (m < 2)%nat -> Rabs (t' m - s' m) <= delta) /\ F < softmax 2 t' O / softmax 2 s' O).
Proof. intros n delta s t j J D H. split; [|apply sharp, D]. assert (N : (0 < n)%nat) by lia.
  pose proof (exp_sum_pos n s N) as Ps. pose proof (exp_sum_pos n t N) as Pt. cbv beta in *.
  assert (A : forall m, (m < n)%nat -> s m - delta <= t m <= s m + delta).
  { intros m M. specialize (H m M). pose proof (Rle_abs (t m - s m)). pose proof (Rle_abs (- (t m - s m))) as H2. rewrite Rabs_Ropp in H2. lra. }
  assert (U : sum n (fun m => exp (t m)) <= exp delta * sum n (fun m => exp (s m))).
  { rewrite <- sum_scal. apply sum_le. intros m M. rewrite <- exp_plus. apply exp_le. destruct (A m M). lra. }
  assert (L : exp (- delta) * sum n (fun m => exp (s m)) <= sum n (fun m => exp (t m))).
  { rewrite <- sum_scal. apply sum_le. intros m M. rewrite <- exp_plus. apply exp_le. destruct (A m M). lra. }
  assert (Uj : exp (t j) <= exp delta * exp (s j)) by (rewrite <- exp_plus; apply exp_le; destruct (A j J); lra).
  assert (Lj : exp (- delta) * exp (s j) <= exp (t j)) by (rewrite <- exp_plus; apply exp_le; destruct (A j J); lra).
  pose proof (exp_pos (s j)). pose proof (exp_pos (t j)). pose proof (exp_pos delta). pose proof (exp_pos (- delta)).
  assert (I : exp delta * exp (- delta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  replace (2 * delta) with (delta + delta) by ring. replace (- 2 * delta) with (- delta + - delta) by ring. rewrite !exp_plus.
  set (e := exp delta) in *. set (f := exp (- delta)) in *. set (a := exp (s j)) in *. set (b := exp (t j)) in *.
  unfold softmax. fold a b. set (X := sum n (fun m => exp (s m))) in *. set (Y := sum n (fun m => exp (t m))) in *.
  replace (b / Y / (a / X)) with (b * X / (Y * a)) by (field; lra).
  assert (0 < Y * a) by nra. split.
  - apply (Rmult_le_reg_r (Y * a)); [lra|]. replace (b * X / (Y * a) * (Y * a)) with (b * X) by (field; lra).
    apply Rle_trans with (f * a * (f * Y)); [right; ring|]. apply Rmult_le_compat; nra.
  - apply (Rmult_le_reg_r (Y * a)); [lra|]. replace (b * X / (Y * a) * (Y * a)) with (b * X) by (field; lra).
    apply Rle_trans with (e * a * (e * Y)); [|right; ring]. apply Rmult_le_compat; nra. Qed.

(* One step of gradient descent on q and k by the gradient of one score s = q . k / sqrt d, of which
   the loss has the derivative g *)
Theorem step : forall (d : nat) (q k : vector) (eta g : R), (0 < d)%nat ->
  let s := dot d q k / sqrt (INR d) in
  let q' c := q c - eta * (g * k c / sqrt (INR d)) in
  let k' c := k c - eta * (g * q c / sqrt (INR d)) in
  dot d q' k' / sqrt (INR d) - s
  = - eta * g * (dot d q q + dot d k k) / INR d + eta * eta * (g * g) * s / INR d.
Proof. intros d q k eta g D s q' k'. apply lt_INR in D. simpl in D.
  assert (R : 0 < sqrt (INR d)) by (apply sqrt_lt_R0, D). set (r := sqrt (INR d)) in *.
  assert (Sq : INR d = r * r) by (unfold r; rewrite sqrt_sqrt; lra). unfold s, q', k', dot. rewrite Sq.
  rewrite (sum_ext d _ (fun c => q c * k c + (- eta * g / r) * (q c * q c) + (- eta * g / r) * (k c * k c)
    + (eta * eta * (g * g) / (r * r)) * (q c * k c))) by (intros; field; lra).
  rewrite !sum_plus, !sum_scal. field. lra. Qed.

(* A format of p binary digits. Its numbers are whole numbers of at most p digits times a power of 2,
   and 0; low is the exponent of the smallest normal numbers' last digit, high that of the largest. *)
Definition power (e : Z) : R := powerRZ 2 e.
Definition in_format (p : nat) (low high : Z) (y : R) : Prop := exists (m e : Z),
  (Z.abs m < 2 ^ Z.of_nat p)%Z /\ (low <= e <= high)%Z /\ y = IZR m * power e.
Definition largest (p : nat) (high : Z) : R := (IZR (2 ^ Z.of_nat p) - 1) * power high.
(* Rounding takes the nearest number of the format, up to the largest; of two that are equally near,
   it takes 0 or the one whose last digit is 0 when it is written with all its p digits. *)
Definition nearest (p : nat) (low high : Z) (x y : R) : Prop := in_format p low high y
  /\ forall z, in_format p low high z -> Rabs (x - y) <= Rabs (x - z).
Definition is_even (p : nat) (y : R) : Prop := y = 0 \/ exists (m e : Z),
  (2 ^ (Z.of_nat p - 1) <= Z.abs m < 2 ^ Z.of_nat p)%Z /\ Z.even m = true /\ y = IZR m * power e.
Definition rounds (p : nat) (low high : Z) (fl : R -> R) : Prop := forall x, Rabs x <= largest p high -> nearest p low high x (fl x).
Definition ties_to_even (p : nat) (low high : Z) (fl : R -> R) : Prop := forall x z, Rabs x <= largest p high ->
  nearest p low high x z -> z <> fl x -> is_even p (fl x).
(* The normal numbers: from the smallest with p digits to the largest *)
Definition normal (p : nat) (low high : Z) (x : R) : Prop :=
  power (low + Z.of_nat p - 1) <= Rabs x <= largest p high.

Lemma power_pos e : 0 < power e. Proof. apply powerRZ_lt. lra. Qed.
Lemma power_add a b : power (a + b) = power a * power b. Proof. apply powerRZ_add. lra. Qed.
Lemma power_nat n : power (Z.of_nat n) = IZR (2 ^ Z.of_nat n).
Proof. unfold power. rewrite <- pow_powerRZ. rewrite pow_IZR. reflexivity. Qed.
Lemma power_mono a b : (a <= b)%Z -> power a <= power b.
Proof. intro H. replace b with (a + Z.of_nat (Z.to_nat (b - a)))%Z by lia. rewrite power_add, power_nat.
  pose proof (power_pos a). assert (1 <= IZR (2 ^ Z.of_nat (Z.to_nat (b - a)))); [|nra].
  apply IZR_le. pose proof (Z.pow_pos_nonneg 2 (Z.of_nat (Z.to_nat (b - a))) ltac:(lia) ltac:(lia)). lia. Qed.

(* A number between the smallest and the largest normal ones lies between two powers of 2. *)
Lemma binade p low high x : (0 < p)%nat -> normal p low high x -> exists e, (low <= e <= high)%Z
  /\ power (e + Z.of_nat p - 1) <= Rabs x < power (e + Z.of_nat p).
Proof. intros P [A B]. unfold largest in B. set (x' := Rabs x) in *.
  assert (Lt : x' < power (high + Z.of_nat p)).
  { rewrite power_add, power_nat. pose proof (power_pos high). nra. }
  assert (LH : (low <= high)%Z).
  { apply Z.nlt_ge. intro W. assert (power (high + Z.of_nat p) <= power (low + Z.of_nat p - 1)) by (apply power_mono; lia). lra. }
  assert (Up : forall n, (low <= high - Z.of_nat n)%Z -> exists e, (high - Z.of_nat n <= e <= high)%Z
    /\ (power (e + Z.of_nat p - 1) <= x' \/ e = (high - Z.of_nat n)%Z) /\ x' < power (e + Z.of_nat p)).
  { induction n as [|n IH]; intro N.
    - exists high. split; [lia|]. split; [right; lia|exact Lt].
    - destruct IH as (e & E1 & [E2|E2] & E3); [lia| |].
      + exists e. split; [lia|]. split; [left; exact E2|exact E3].
      + destruct (Rle_lt_dec (power (e + Z.of_nat p - 1)) x') as [L|L].
        * exists e. split; [lia|]. split; [left; exact L|exact E3].
        * exists (e - 1)%Z. split; [lia|]. split; [right; lia|]. replace (e - 1 + Z.of_nat p)%Z with (e + Z.of_nat p - 1)%Z by lia. exact L. }
  destruct (Up (Z.to_nat (high - low))) as (e & E1 & E2 & E3); [lia|]. exists e. split; [lia|]. split; [|exact E3].
  destruct E2 as [E2|E2]; [exact E2|]. replace e with low by lia. exact A. Qed.

Lemma round_to_whole y : exists k : Z, Rabs (y - IZR k) <= 1 / 2.
Proof. exists (up (y - 1 / 2)). destruct (archimed (y - 1 / 2)). apply Rabs_le. lra. Qed.
Theorem rounding : forall (p : nat) (low high : Z) (fl : R -> R) (x : R), (1 <= p)%nat ->
  rounds p low high fl -> normal p low high x -> exists delta, fl x = x * (1 + delta) /\ Rabs delta <= / IZR (2 ^ Z.of_nat p).
Proof. intros p low high fl x P Rd N. destruct (Rd x (proj2 N)) as [_ Near].
  destruct (binade p low high x ltac:(lia) N) as (e & E1 & E2 & E3). set (pw := power e). assert (Pp : 0 < pw) by apply power_pos.
  set (top := IZR (2 ^ Z.of_nat p)). assert (Pt : 0 < top) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (E3' : Rabs x < top * pw) by (rewrite power_add, power_nat in E3; fold pw top in E3; lra).
  assert (E2' : pw * top <= 2 * Rabs x).
  { replace (e + Z.of_nat p - 1)%Z with (e + Z.of_nat p + -1)%Z in E2 by lia. rewrite !power_add, power_nat in E2. fold pw top in E2.
    unfold power in E2. simpl in E2. lra. }
  assert (Px : 0 < Rabs x) by nra.
  (* a number of the format at most half a step away *)
  assert (Z : exists z, in_format p low high z /\ Rabs (x - z) <= 1 / 2 * pw).
  { destruct (round_to_whole (x / pw)) as [k K].
    assert (D : Rabs (x - IZR k * pw) <= 1 / 2 * pw).
    { replace (x - IZR k * pw) with ((x / pw - IZR k) * pw) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq pw) by lra.
      apply Rmult_le_compat_r; lra. }
    assert (Ka : (Z.abs k <= 2 ^ Z.of_nat p)%Z).
    { apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR, abs_IZR. fold top.
      replace (IZR k) with (IZR k - x / pw + x / pw) by ring.
      apply Rle_lt_trans with (1 := Rabs_triang _ _). rewrite (Rabs_minus_sym (IZR k)).
      assert (Rabs (x / pw) < top); [|lra]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq pw) by lra.
      apply (Rmult_lt_reg_r pw); [exact Pp|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    destruct (Z.eq_dec (Z.abs k) (2 ^ Z.of_nat p)) as [Q|Q].
    2:{ exists (IZR k * pw). split; [|exact D]. exists k, e. split; [lia|]. split; [exact E1|reflexivity]. }
    (* one digit too many: a power of 2 has another exponent, and above the largest number that one is nearer *)
    pose proof (Z.pow_pos_nonneg 2 (Z.of_nat p) ltac:(lia) ltac:(lia)) as B0.
    assert (Sg : (Z.sgn k = 1 \/ Z.sgn k = -1)%Z) by lia.
    assert (Tk : k = (Z.sgn k * 2 ^ Z.of_nat p)%Z) by (rewrite <- Q, Z.mul_comm; symmetry; apply Z.abs_sgn).
    destruct (Z.eq_dec e high) as [Eh|Eh].
    - destruct N as [_ N]. unfold largest in N. fold top in N. rewrite <- Eh in N. fold pw in N.
      exists (IZR (Z.sgn k * (2 ^ Z.of_nat p - 1)) * pw). split.
      + exists (Z.sgn k * (2 ^ Z.of_nat p - 1))%Z, e. split; [|split; [exact E1|reflexivity]].
        destruct Sg as [-> | ->]; lia.
      + rewrite Tk, mult_IZR in D. rewrite mult_IZR, minus_IZR. fold top. fold top in D.
        destruct Sg as [Sg|Sg]; rewrite Sg in *; revert D N; unfold Rabs; repeat destruct Rcase_abs; intros; nra.
    - exists (IZR k * pw). split; [|exact D]. exists (Z.sgn k * 2 ^ (Z.of_nat p - 1))%Z, (e + 1)%Z.
      assert (Hq : (2 ^ Z.of_nat p = 2 * 2 ^ (Z.of_nat p - 1))%Z) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
      split; [|split; [lia|]].
      + rewrite Hq. pose proof (Z.pow_pos_nonneg 2 (Z.of_nat p - 1) ltac:(lia) ltac:(lia)). destruct Sg as [-> | ->]; lia.
      + rewrite Tk at 1. rewrite Hq, !mult_IZR. unfold pw. rewrite power_add. replace (power 1) with 2 by (unfold power; simpl; ring). ring. }
  destruct Z as (z & Fz & Dz). specialize (Near z Fz).
  assert (X0 : x <> 0) by (intro Q; rewrite Q, Rabs_R0 in Px; lra).
  exists ((fl x - x) / x). split; [field; exact X0|]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, Rabs_minus_sym. fold top.
  apply (Rmult_le_reg_r (Rabs x * top)); [nra|].
  replace (Rabs (x - fl x) * / Rabs x * (Rabs x * top)) with (Rabs (x - fl x) * top) by (field; lra).
  replace (/ top * (Rabs x * top)) with (Rabs x) by (field; lra). nra. Qed.

(* 1 added n times, rounded after each addition *)
Fixpoint counting (fl : R -> R) (n : nat) : R := match n with O => 0 | S n => fl (counting fl n + 1) end.
Theorem stuck : forall (p : nat) (low high : Z) (fl : R -> R) (n : nat), (2 <= p)%nat ->
  (low <= 0)%Z -> (1 <= high)%Z -> rounds p low high fl -> ties_to_even p low high fl -> counting fl n = INR (Nat.min n (2 ^ p)).
Proof. intros p low high fl n P Lo Hi Rd Ties.
  assert (Tp : (2 ^ Z.of_nat p)%Z = Z.of_nat (2 ^ p)) by (rewrite Nat2Z.inj_pow; reflexivity).
  assert (Big : INR (2 ^ p) + 1 <= largest p high).
  { unfold largest. rewrite Tp, <- INR_IZR_INZ. pose proof (power_mono 1 high Hi) as Q. replace (power 1) with 2 in Q by (unfold power; simpl; ring).
    assert (4 <= INR (2 ^ p)); [|nra]. replace 4 with (INR (2 ^ 2)) by (simpl; ring). apply le_INR, Nat.pow_le_mono_r; lia. }
  assert (Wh : forall k, (k <= 2 ^ p)%nat -> in_format p low high (INR k)).
  { intros k K. destruct (Nat.eq_dec k (2 ^ p)) as [->|].
    - exists (2 ^ (Z.of_nat p - 1))%Z, 1%Z. split; [|split; [lia|]].
      + rewrite Z.abs_eq by (apply Z.pow_nonneg; lia). apply Z.pow_lt_mono_r; lia.
      + rewrite INR_IZR_INZ, <- Tp. replace (Z.of_nat p) with (Z.succ (Z.of_nat p - 1)) at 1 by lia.
        rewrite Z.pow_succ_r, mult_IZR by lia. unfold power. simpl. ring.
    - exists (Z.of_nat k), 0%Z. split; [rewrite Tp; lia|]. split; [lia|]. rewrite <- INR_IZR_INZ. unfold power. simpl. ring. }
  assert (Ex : forall k, (k <= 2 ^ p)%nat -> fl (INR k) = INR k).
  { intros k K. assert (Kl : Rabs (INR k) <= largest p high) by (rewrite Rabs_pos_eq by apply pos_INR; apply le_INR in K; lra).
    destruct (Rd (INR k) Kl) as [_ H]. specialize (H _ (Wh k K)). replace (INR k - INR k) with 0 in H by ring. rewrite Rabs_R0 in H.
    pose proof (Rabs_pos (INR k - fl (INR k))). destruct (Req_dec (INR k - fl (INR k)) 0) as [Z|Z]; [lra|].
    pose proof (Rabs_pos_lt _ Z). lra. }
  (* between 2^p and 2^p + 2 there is no number of the format *)
  set (T := INR (2 ^ p)). set (h := (2 ^ (Z.of_nat p - 1))%Z).
  assert (Hh : (2 ^ Z.of_nat p = 2 * h)%Z) by (unfold h; rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (Th : T = IZR (2 * h)) by (unfold T; rewrite INR_IZR_INZ, <- Tp, Hh; reflexivity).
  assert (H2 : (exists g, h = 2 * g /\ 1 <= g)%Z).
  { exists (2 ^ (Z.of_nat p - 2))%Z. split; [unfold h; rewrite <- Z.pow_succ_r by lia; f_equal; lia|].
    pose proof (Z.pow_pos_nonneg 2 (Z.of_nat p - 2) ltac:(lia) ltac:(lia)). lia. }
  destruct H2 as (g & Hg & G1).
  assert (P1 : power 1 = 2) by (unfold power; simpl; ring). assert (P0 : power 0 = 1) by reflexivity.
  assert (Small : forall m e, (Z.abs m < 2 * h)%Z -> (e <= 0)%Z -> Rabs (IZR m * power e) < T).
  { intros m e M E0. rewrite Rabs_mult, (Rabs_pos_eq (power e)) by (left; apply power_pos).
    pose proof (power_mono e 0 E0) as Q. rewrite P0 in Q. pose proof (power_pos e). rewrite Th. apply IZR_lt in M. rewrite abs_IZR in M.
    pose proof (Rabs_pos (IZR m)). nra. }
  assert (None : forall y, in_format p low high y -> ~ T < y < T + 2).
  { intros y (m & e & M & _ & ->) [A B]. rewrite Hh in M. destruct (Z.le_gt_cases e 0) as [E0|E0].
    - pose proof (Small m e M E0). pose proof (Rle_abs (IZR m * power e)). lra.
    - replace e with (1 + Z.of_nat (Z.to_nat (e - 1)))%Z in A, B by lia. rewrite power_add, power_nat, P1 in A, B.
      rewrite Th in A, B. rewrite <- !mult_IZR in A, B. rewrite <- plus_IZR in B. apply lt_IZR in A, B. lia. }
  assert (Stop : fl (T + 1) = T).
  { assert (F0 : in_format p low high T) by (apply Wh; lia).
    assert (F2 : in_format p low high (T + 2)).
    { exists (h + 1)%Z, 1%Z. split; [lia|]. split; [lia|]. rewrite P1, Th, <- mult_IZR, <- plus_IZR. f_equal. lia. }
    assert (Tl : Rabs (T + 1) <= largest p high) by (rewrite Rabs_pos_eq; [exact Big|unfold T; pose proof (pos_INR (2 ^ p)); lra]).
    destruct (Rd (T + 1) Tl) as [Fy Near]. pose proof (Ties (T + 1)) as Tie. set (y := fl (T + 1)) in *.
    pose proof (Near T F0) as N0. replace (T + 1 - T) with 1 in N0 by ring. rewrite Rabs_R1 in N0.
    assert (B : T <= y <= T + 2) by (revert N0; unfold Rabs; destruct Rcase_abs; lra).
    destruct (Req_dec y T) as [Q|Q]; [exact Q|]. exfalso.
    assert (Y2 : y = T + 2).
    { destruct (Req_dec y (T + 2)) as [W|W]; [exact W|]. exfalso. apply (None y Fy). lra. }
    destruct (Tie T Tl) as [Y0|(m & e & [M1 M2] & Ev & Ym)].
    - split; [exact F0|]. intros z Fz. replace (T + 1 - T) with 1 by ring. rewrite Rabs_R1.
      specialize (Near z Fz). rewrite Y2 in Near. replace (T + 1 - (T + 2)) with (-1) in Near by ring.
      unfold Rabs in Near at 1. destruct Rcase_abs in Near; lra.
    - intro W. apply Q. symmetry. exact W.
    - rewrite Y2 in Y0. assert (0 < T) by (rewrite Th; apply IZR_lt; lia). lra.
    - fold h in M1. rewrite Hh in M2. rewrite Y2 in Ym.
      assert (E1 : e = 1%Z).
      { destruct (Z.le_gt_cases e 0) as [E0|E0].
        - pose proof (Small m e M2 E0) as Sm. rewrite <- Ym in Sm. pose proof (Rle_abs (T + 2)). lra.
        - destruct (Z.eq_dec e 1) as [E1|E1]; [exact E1|]. exfalso.
          assert (Mp : (0 < m)%Z).
          { apply lt_IZR. assert (0 < T) by (rewrite Th; apply IZR_lt; lia). pose proof (power_pos e). apply Rnot_le_lt. intro W. simpl in W. nra. }
          rewrite Z.abs_eq in M1 by lia. pose proof (power_mono 2 e ltac:(lia)) as P2. replace (power 2) with 4 in P2 by (unfold power; simpl; ring).
          apply IZR_le in M1. assert (2 <= T) by (rewrite Th; apply IZR_le; lia).
          assert (Th' : T = 2 * IZR h) by (rewrite Th, mult_IZR; reflexivity).
          assert (4 <= T) by (rewrite Th; apply IZR_le; lia). nra. }
      subst e. rewrite P1, Th, <- mult_IZR, <- plus_IZR in Ym. apply eq_IZR in Ym.
      replace m with (2 * g + 1)%Z in Ev by lia. rewrite Z.even_add, Z.even_mul in Ev. discriminate. }
  induction n as [|n IH]; [reflexivity|]. cbn [counting]. rewrite IH.
  destruct (Nat.lt_ge_cases n (2 ^ p)) as [L|L].
  - rewrite Nat.min_l by lia. rewrite <- S_INR, Ex by lia. f_equal. lia.
  - rewrite (Nat.min_r n) by lia. fold T. rewrite Stop. unfold T. f_equal. lia. Qed.

(* A dot product whose products and sums are rounded, from the first term to the last *)
Definition factor (u x y : R) : Prop := exists delta, y = x * (1 + delta) /\ Rabs delta <= u.
Fixpoint rounded_dot (fl : R -> R) (q k : vector) (d : nat) : R := match d with
  | O => 0
  | S O => fl (q O * k O)
  | S d => fl (rounded_dot fl q k d + fl (q d * k d))
  end.
Definition gamma (u : R) (n : nat) : R := INR n * u / (1 - INR n * u).
(* after n factors: between 1 - n u and 1 + gamma n *)
Definition within (u : R) (n : nat) (x y : R) : Prop := exists t, y = x * t /\ 1 - INR n * u <= t <= / (1 - INR n * u).
Lemma error_of_factors : forall (u : R) (fl : R -> R) (q k : vector) (d : nat), 0 <= u -> INR d * u < 1 ->
  (forall i, (i < d)%nat -> factor u (q i * k i) (fl (q i * k i))) ->
  (forall i, (S i < d)%nat -> factor u (rounded_dot fl q k (S i) + fl (q (S i) * k (S i))) (rounded_dot fl q k (S (S i)))) ->
  Rabs (rounded_dot fl q k d - dot d q k) <= gamma u d * sum d (fun i => Rabs (q i * k i)).
Proof. intros u fl q k d U D Pr Su.
  assert (More : forall n x y z, INR (S n) * u < 1 -> within u n x y -> factor u y z -> within u (S n) x z).
  { intros n x y z N (t & -> & T1 & T2) (de & -> & De).
    assert (De' : - u <= de <= u) by (revert De; unfold Rabs; destruct Rcase_abs; lra). clear De.
    exists (t * (1 + de)). split; [ring|]. rewrite S_INR in *. pose proof (pos_INR n) as Pn. set (a := INR n * u) in *.
    assert (A0 : 0 <= a) by (unfold a; nra). assert (A1 : a + u < 1) by (unfold a; lra). assert (I0 : 0 < / (1 - a)) by (apply Rinv_0_lt_compat; lra).
    replace ((INR n + 1) * u) with (a + u) by (unfold a; ring). split.
    - apply Rle_trans with ((1 - a) * (1 - u)); [nra|]. apply Rmult_le_compat; lra.
    - apply Rle_trans with (/ (1 - a) * (1 + u)); [apply Rmult_le_compat; lra|].
      apply (Rmult_le_reg_r ((1 - a) * (1 - (a + u)))); [nra|].
      replace (/ (1 - a) * (1 + u) * ((1 - a) * (1 - (a + u)))) with ((1 + u) * (1 - (a + u))) by (field; lra).
      replace (/ (1 - (a + u)) * ((1 - a) * (1 - (a + u)))) with (1 - a) by (field; lra). nra. }
  (* the rounded sum is a sum of the terms, each times at most as many factors as there are terms *)
  assert (All : forall n, (S n <= d)%nat -> exists t : vector, rounded_dot fl q k (S n) = sum (S n) (fun i => t i)
    /\ forall i, (i < S n)%nat -> within u (S n) (q i * k i) (t i)).
  { induction n as [|n IH]; intro L.
    - exists (fun i => fl (q i * k i)). split; [simpl; ring|]. intros i I. replace i with 0%nat by lia.
      apply (More 0%nat _ (q 0%nat * k 0%nat)); [apply le_INR in L; simpl in *; nra| |apply Pr; lia].
      exists 1. split; [ring|]. simpl. rewrite Rmult_0_l, Rminus_0_r, Rinv_1. lra.
    - destruct IH as (t & Et & Wt); [lia|]. destruct (Su n L) as (de & Ed & De).
      assert (Nu : INR (S (S n)) * u < 1) by (apply le_INR in L; nra).
      exists (fun i => (if Nat.eqb i (S n) then fl (q i * k i) else t i) * (1 + de)). split.
      + rewrite Ed, Et, sum_scal_r. f_equal. change (sum (S (S n)) ?f) with (sum (S n) f + f (S n)). cbv beta. rewrite Nat.eqb_refl. f_equal.
        apply sum_ext. intros i I. replace (Nat.eqb i (S n)) with false; [reflexivity|]. symmetry. apply Nat.eqb_neq. lia.
      + intros i I. apply (More (S n) _ (if Nat.eqb i (S n) then fl (q i * k i) else t i)); [exact Nu| |exists de; split; [reflexivity|exact De]].
        destruct (Nat.eqb i (S n)) eqn:Q; [|apply Nat.eqb_neq in Q; apply Wt; lia].
        apply Nat.eqb_eq in Q. subst i. destruct (Pr (S n) L) as (d1 & E1 & D1).
        (* one factor, and so many more that are 1 *)
        assert (Up : forall m, INR (S m) * u < 1 -> within u (S m) (q (S n) * k (S n)) (fl (q (S n) * k (S n)))).
        { induction m as [|m IHm]; intro M.
          - apply (More 0%nat _ (q (S n) * k (S n))); [exact M| |exists d1; auto].
            exists 1. split; [ring|]. simpl. rewrite Rmult_0_l, Rminus_0_r, Rinv_1. lra.
          - apply (More (S m) _ (fl (q (S n) * k (S n)))); [exact M|apply IHm; rewrite S_INR in M; nra|].
            exists 0. split; [ring|]. rewrite Rabs_R0. exact U. }
        apply Up. rewrite S_INR in Nu. nra. }
  destruct d as [|n]; [simpl; unfold dot; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
  destruct (All n (Nat.le_refl _)) as (t & -> & Wt). unfold dot. rewrite <- sum_minus, <- sum_scal.
  apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros i I. destruct (Wt i I) as (f & -> & F1 & F2).
  replace (q i * k i * f - q i * k i) with ((f - 1) * (q i * k i)) by ring. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|]. unfold gamma. set (a := INR (S n) * u) in *.
  assert (A0 : 0 <= a) by (unfold a; pose proof (pos_INR (S n)); nra).
  assert (Ga : / (1 - a) - 1 = a / (1 - a)) by (field; lra).
  assert (Gb : a <= a / (1 - a)). { apply (Rmult_le_reg_r (1 - a)); [lra|]. replace (a / (1 - a) * (1 - a)) with a by (field; lra). nra. }
  apply Rabs_le. lra. Qed.

(* Nothing overflows: no exact product and no exact sum lies beyond the largest number. A sum that falls
   below the normal numbers is exact. *)
Theorem dot_error : forall (p : nat) (low high : Z) (fl : R -> R) (q k : vector) (d : nat), (1 <= p)%nat ->
  let u := / IZR (2 ^ Z.of_nat p) in
  rounds p low high fl -> INR d * u < 1 ->
  (forall i, (i < d)%nat -> q i * k i = 0 \/ normal p low high (q i * k i)) ->
  (forall i, (S i < d)%nat -> Rabs (rounded_dot fl q k (S i) + fl (q (S i) * k (S i))) <= largest p high) ->
  Rabs (rounded_dot fl q k d - dot d q k) <= gamma u d * sum d (fun i => Rabs (q i * k i)).
Proof. intros p low high fl q k d P u Rd D Pr Su.
  assert (U : 0 < u) by (apply Rinv_0_lt_compat, IZR_lt, Z.pow_pos_nonneg; lia).
  assert (La : 0 < largest p high).
  { unfold largest. pose proof (power_pos high). assert (2 <= IZR (2 ^ Z.of_nat p)); [|nra]. apply IZR_le.
    replace (Z.of_nat p) with (Z.succ (Z.of_nat p - 1)) by lia. rewrite Z.pow_succ_r by lia.
    pose proof (Z.pow_pos_nonneg 2 (Z.of_nat p - 1) ltac:(lia) ltac:(lia)). lia. }
  assert (Exact : forall x, Rabs x <= largest p high -> in_format p low high x -> fl x = x).
  { intros x L F. destruct (Rd x L) as [_ N]. specialize (N x F). replace (x - x) with 0 in N by ring. rewrite Rabs_R0 in N.
    destruct (Req_dec (x - fl x) 0) as [Z|Z]; [lra|]. pose proof (Rabs_pos_lt _ Z). lra. }
  assert (F0 : in_format p low high 0).
  { destruct (Rd 0) as [(m & e & _ & E1 & _) _]; [rewrite Rabs_R0; lra|]. exists 0%Z, e. split; [|split; [exact E1|ring]].
    apply Z.pow_pos_nonneg; lia. }
  assert (Pr' : forall i, (i < d)%nat -> Rabs (q i * k i) <= largest p high /\ factor u (q i * k i) (fl (q i * k i))).
  { intros i I. destruct (Pr i I) as [Z|N].
    - rewrite Z, Rabs_R0. split; [lra|]. rewrite (Exact 0); [|rewrite Rabs_R0; lra|exact F0]. exists 0. split; [ring|rewrite Rabs_R0; lra].
    - split; [exact (proj2 N)|]. destruct (rounding p low high fl _ P Rd N) as (de & E1 & E2). exists de. auto. }
  assert (Grid : forall y, in_format p low high y -> exists m : Z, y = IZR m * power low).
  { intros y (m & e & _ & E1 & ->). exists (m * 2 ^ Z.of_nat (Z.to_nat (e - low)))%Z.
    replace e with (low + Z.of_nat (Z.to_nat (e - low)))%Z at 1 by lia. rewrite power_add, power_nat, mult_IZR. ring. }
  assert (Fd : forall i, (S i <= d)%nat -> in_format p low high (rounded_dot fl q k (S i))).
  { intros [|i] I; [apply (Rd (q 0%nat * k 0%nat)), Pr'; lia|].
    apply (Rd (rounded_dot fl q k (S i) + fl (q (S i) * k (S i)))), Su. lia. }
  apply error_of_factors; [lra|exact D|intros i I; apply Pr', I|]. intros i I. specialize (Su i I). set (x := rounded_dot fl q k (S i) + fl (q (S i) * k (S i))) in *.
  change (factor u x (fl x)). destruct (Rle_lt_dec (power (low + Z.of_nat p - 1)) (Rabs x)) as [N|N].
  - destruct (rounding p low high fl x P Rd (conj N Su)) as (de & E1 & E2). exists de. auto.
  - rewrite (Exact x Su); [exists 0; split; [ring|rewrite Rabs_R0; lra]|].
    destruct (Grid _ (Fd i ltac:(lia))) as [a A]. destruct (Grid (fl (q (S i) * k (S i)))) as [b B].
    { apply (Rd (q (S i) * k (S i))), Pr'. exact I. }
    assert (X : x = IZR (a + b) * power low) by (unfold x; rewrite A, B, plus_IZR; ring).
    destruct F0 as (m & e & _ & E1 & _). exists (a + b)%Z, low. split; [|split; [lia|exact X]].
    apply lt_IZR. rewrite abs_IZR. apply (Rmult_lt_reg_r (power low)); [apply power_pos|].
    rewrite X, Rabs_mult, (Rabs_pos_eq (power low)) in N by (left; apply power_pos).
    apply Rlt_le_trans with (1 := N). rewrite <- power_nat, <- power_add. apply power_mono. lia. Qed.

(* A soft cap and QK-norm; of the rounded scores t only that each is off by at most the factor 1 + u *)
Definition soft_cap (c s : R) : R := c * tanh (s / c).
Definition qk_norm (d : nat) (c : R) (q k : vector) : R := c * (dot d q k / (norm d q * norm d k)).
Lemma tanh_bound x : Rabs (tanh x) <= 1.
Proof. unfold tanh, sinh, cosh. pose proof (exp_pos x). pose proof (exp_pos (- x)).
  replace ((exp x - exp (- x)) / 2 / ((exp x + exp (- x)) / 2)) with ((exp x - exp (- x)) / (exp x + exp (- x))) by (field; lra).
  apply Rabs_le. split; apply (Rmult_le_reg_r (exp x + exp (- x))); try lra;
    (replace ((exp x - exp (- x)) / (exp x + exp (- x)) * (exp x + exp (- x))) with (exp x - exp (- x)) by (field; lra)); lra. Qed.
Theorem bounded : forall (p : nat) (low high : Z) (fl : R -> R) (d : nat) (c : R),
  (1 <= p)%nat -> (low <= high)%Z -> rounds p low high fl -> 0 < c ->
  (forall s, Rabs (soft_cap c s) <= c)
  /\ (forall q k, norm d q <> 0 -> norm d k <> 0 -> Rabs (qk_norm d c q k) <= c)
  /\ (forall n (s : vector) j, (j < n)%nat ->
       (forall m, (m < n)%nat -> Rabs (s m) <= c /\ (s m = 0 \/ normal p low high (s m))) ->
       let u := / IZR (2 ^ Z.of_nat p) in
       exp (- 2 * (u * c)) <= softmax n (fun m => fl (s m)) j / softmax n s j <= exp (2 * (u * c))).
Proof. intros p low high fl d c Digits LH Fl C.
  assert (U : 0 < / IZR (2 ^ Z.of_nat p)) by (apply Rinv_0_lt_compat, IZR_lt, Z.pow_pos_nonneg; lia).
  assert (Z0 : fl 0 = 0).
  { destruct (Fl 0) as [_ Near].
    - rewrite Rabs_R0. unfold largest. apply Rmult_le_pos; [|left; apply power_pos].
      assert (1 <= IZR (2 ^ Z.of_nat p)); [|lra]. apply IZR_le. pose proof (Z.pow_pos_nonneg 2 (Z.of_nat p)). lia.
    - assert (F0 : in_format p low high 0).
      { exists 0%Z, low. split; [simpl; apply Z.pow_pos_nonneg; lia|]. split; [lia|ring]. }
      apply Near in F0. rewrite Rminus_0_r, Rabs_R0 in F0. pose proof (Rabs_pos (0 - fl 0)).
      destruct (Req_dec (0 - fl 0) 0) as [Q|Q]; [lra|]. apply Rabs_no_R0 in Q. lra. }
  split; [|split].
  - intro s. unfold soft_cap. rewrite Rabs_mult, Rabs_pos_eq by lra. pose proof (tanh_bound (s / c)). nra.
  - intros q k Q K. unfold qk_norm. rewrite Rabs_mult, (Rabs_pos_eq c) by lra.
    assert (Pq : 0 < norm d q) by (pose proof (sqrt_pos (dot d q q)); unfold norm in *; lra).
    assert (Pk : 0 < norm d k) by (pose proof (sqrt_pos (dot d k k)); unfold norm in *; lra).
    assert (P : 0 < norm d q * norm d k) by nra. pose proof (cauchy_schwarz d q k) as H.
    assert (Rabs (dot d q k / (norm d q * norm d k)) <= 1); [|nra].
    unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ _)) by (left; apply Rinv_0_lt_compat, P).
    apply (Rmult_le_reg_r (norm d q * norm d k)); [exact P|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - intros n s j J H u. refine (proj1 (factors n (u * c) s (fun m => fl (s m)) j J _ _)); [unfold u; nra|].
    intros m M. cbv beta. destruct (H m M) as [A [Q|Q]].
    + rewrite Q, Z0, Rminus_0_r, Rabs_R0. unfold u. nra.
    + destruct (rounding p low high fl (s m) Digits Fl Q) as (e & R & B). rewrite R.
      replace (s m * (1 + e) - s m) with (e * s m) by ring. rewrite Rabs_mult.
      apply Rmult_le_compat; [apply Rabs_pos|apply Rabs_pos|exact B|exact A]. Qed.
