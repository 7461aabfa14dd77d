(* The backward pass of attention, and where training starts. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics softmax.

(* Row i of dS, from the weights a of the row and the derivatives g of the loss in them *)
Definition score_gradient (n : nat) (a g : vector) : vector := fun m => a m * (g m - sum n (fun j => a j * g j)).
Theorem saturated : forall (n i : nat) (a g : vector) (epsilon low high : R), (i < n)%nat ->
  (forall j, (j < n)%nat -> 0 <= a j) -> sum n a = 1 -> a i = 1 - epsilon ->
  (forall j, (j < n)%nat -> low <= g j <= high) ->
  sum n (fun m => Rabs (score_gradient n a g m)) <= 2 * epsilon * (high - low).
Proof. intros n i a g eps low high I P S A B. set (mu := sum n (fun j => a j * g j)).
  assert (Bm : low <= mu <= high).
  { unfold mu. split.
    - rewrite <- (Rmult_1_l low), <- S, <- sum_scal_r. apply sum_le. intros j J. apply Rmult_le_compat_l; [apply P, J|apply B, J].
    - rewrite <- (Rmult_1_l high), <- S, <- sum_scal_r. apply sum_le. intros j J. apply Rmult_le_compat_l; [apply P, J|apply B, J]. }
  assert (O : others n i a = eps) by (pose proof (sum_others n i a I); lra).
  assert (E0 : 0 <= eps).
  { rewrite <- O. apply sum_nonneg. intros j J. destruct (Nat.eqb i j); [lra|apply P, J]. }
  (* what is not on the leader is at most eps times the range, and so is the leader's own entry *)
  assert (R1 : others n i (fun m => Rabs (score_gradient n a g m)) <= eps * (high - low)).
  { rewrite <- O. unfold others. rewrite <- sum_scal_r. apply sum_le. intros j J. destruct (Nat.eqb i j); [lra|].
    unfold score_gradient. fold mu. rewrite Rabs_mult, (Rabs_pos_eq (a j)) by (apply P, J).
    apply Rmult_le_compat_l; [apply P, J|]. destruct (B j J). apply Rabs_le. lra. }
  assert (Z : sum n (score_gradient n a g) = 0).
  { unfold score_gradient. fold mu. rewrite (sum_ext n _ (fun m => a m * g m - a m * mu)) by (intros; ring).
    rewrite sum_minus, sum_scal_r, S. fold mu. ring. }
  assert (R2 : Rabs (score_gradient n a g i) <= others n i (fun m => Rabs (score_gradient n a g m))).
  { rewrite (sum_others n i _ I) in Z. replace (score_gradient n a g i) with (- others n i (score_gradient n a g)) by lra.
    rewrite Rabs_Ropp. unfold others. apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros j _.
    destruct (Nat.eqb i j); [rewrite Rabs_R0|]; lra. }
  rewrite (sum_others n i _ I). lra. Qed.

(* The gradient of a loss with respect to a matrix of n by m numbers, by the chain rule: along every
   path of matrices through M that has a derivative, the loss changes by the sum of the gradient times
   the changes of the entries. Every loss that is differentiable in M has one. *)
Definition is_path (n m : nat) (path : R -> matrix) (t : R) (M slopes : matrix) : Prop :=
  path t = M /\ forall i c, (i < n)%nat -> (c < m)%nat -> is_derive (fun u => path u i c) t (slopes i c).
Definition has_gradient (n m : nat) (L : matrix -> R) (M dM : matrix) : Prop := forall path t slopes,
  is_path n m path t M slopes -> is_derive (fun u => L (path u)) t (sum n (fun i => sum m (fun c => dM i c * slopes i c))).
Definition equal_gradients (n m : nat) (A B : matrix) : Prop := forall i c, (i < n)%nat -> (c < m)%nat -> A i c = B i c.

(* What the page calls dA and dS: s has the scores, masked or not *)
Definition weights_of (nk : nat) (mask : nat -> nat -> bool) (S : matrix) : matrix := fun i => masked_softmax nk (mask i) (S i).
Definition of_scores (nk : nat) (A dA : matrix) : matrix := fun i => score_gradient nk (A i) (dA i).

Lemma is_path_ext n m L M dM (f : R -> matrix) t slopes value : has_gradient n m L M dM -> is_path n m f t M slopes ->
  sum n (fun i => sum m (fun c => dM i c * slopes i c)) = value -> is_derive (fun u => L (f u)) t value.
Proof. intros H P <-. apply H, P. Qed.
Lemma product_left n p m L A B dC : has_gradient n m L (product p A B) dC ->
  has_gradient n p (fun A => L (product p A B)) A (product m dC (transposed B)).
Proof. intros H path t sl [P0 P]. apply (is_path_ext n m L (product p A B) dC (fun u => product p (path u) B) t (product p sl B)).
  - exact H.
  - split; [rewrite P0; reflexivity|]. intros i c I C. unfold product.
    apply (is_derive_sum p (fun b u => path u i b * B b c) (fun b => sl i b * B b c)). intros b Bb.
    apply (is_derive_ext (fun u => scal (path u i b) (B b c))); [reflexivity|].
    apply (is_derive_scal_l (fun u => path u i b) t (sl i b) (B b c)), P; assumption.
  - apply sum_ext. intros i _. unfold product, transposed.
    rewrite (sum_ext m _ (fun c => sum p (fun b => dC i c * (sl i b * B b c)))) by (intros; rewrite <- sum_scal; reflexivity).
    rewrite sum_swap. apply sum_ext. intros b _. rewrite <- sum_scal_r. apply sum_ext. intros. ring. Qed.
Lemma product_right n p m L A B dC : has_gradient n m L (product p A B) dC ->
  has_gradient p m (fun B => L (product p A B)) B (product n (transposed A) dC).
Proof. intros H path t sl [P0 P]. apply (is_path_ext n m L (product p A B) dC (fun u => product p A (path u)) t (product p A sl)).
  - exact H.
  - split; [rewrite P0; reflexivity|]. intros i c I C. unfold product.
    apply (is_derive_sum p (fun b u => A i b * path u b c) (fun b => A i b * sl b c)). intros b Bb.
    apply is_derive_scal, P; assumption.
  - symmetry. rewrite (sum_ext p _ (fun b => sum n (fun i => sum m (fun c => A i b * dC i c * sl b c)))).
    + rewrite sum_swap. apply sum_ext. intros i _. rewrite sum_swap. apply sum_ext. intros c _. unfold product.
      rewrite <- sum_scal. apply sum_ext. intros. ring.
    + intros b _. rewrite sum_swap. apply sum_ext. intros c _. unfold product, transposed. rewrite <- sum_scal_r. reflexivity. Qed.
Lemma scaled_scores nq nk d L Q K dS : has_gradient nq nk L (scores d Q K) dS ->
  has_gradient nq d (fun Q => L (scores d Q K)) Q (fun i b => product nk dS K i b / sqrt (INR d))
  /\ has_gradient nk d (fun K => L (scores d Q K)) K (fun j b => product nq (transposed dS) Q j b / sqrt (INR d)).
Proof. intro H. set (r := sqrt (INR d)).
  assert (H' : has_gradient nq nk (fun M => L (fun i j => M i j / r)) (product d Q (transposed K)) (fun i j => dS i j / r)).
  { intros path t sl [P0 P]. apply (is_path_ext nq nk L (scores d Q K) dS (fun u i j => path u i j / r) t (fun i j => sl i j / r)).
    - exact H.
    - split; [rewrite P0; reflexivity|]. intros i c I C. unfold Rdiv.
      apply (is_derive_ext (fun u => scal (path u i c) (/ r))); [reflexivity|].
      apply (is_derive_scal_l (fun u => path u i c) t (sl i c) (/ r)), P; assumption.
    - apply sum_ext. intros i _. apply sum_ext. intros c _. unfold Rdiv. ring. }
  split.
  - intros path t sl P. pose proof (product_left nq d nk _ Q (transposed K) _ H' path t sl P) as D.
    eapply is_path_ext with (L := fun Q => L (scores d Q K)) (n := nq) (m := d) (M := Q) (slopes := sl) (f := path);
      [|exact P|reflexivity]. clear path t sl P D.
    intros path t sl P. pose proof (product_left nq d nk _ Q (transposed K) _ H' path t sl P) as D.
    replace (sum nq (fun i => sum d (fun c => product nk dS K i c / r * sl i c)))
      with (sum nq (fun i => sum d (fun c => product nk (fun i j => dS i j / r) (transposed (transposed K)) i c * sl i c))); [exact D|].
    apply sum_ext. intros i _. apply sum_ext. intros c _. f_equal. unfold product. rewrite <- sum_div. apply sum_ext. intros. unfold Rdiv, transposed. ring.
  - intros path t sl [P0 P].
    assert (P' : is_path d nk (fun u => transposed (path u)) t (transposed K) (transposed sl)).
    { split; [rewrite P0; reflexivity|]. intros a b A B. apply P; assumption. }
    pose proof (product_right nq d nk _ Q (transposed K) _ H' _ t _ P') as D. cbv beta in D.
    replace (sum nk (fun i => sum d (fun c => product nq (transposed dS) Q i c / r * sl i c)))
      with (sum d (fun i => sum nk (fun c => product nq (transposed Q) (fun i j => dS i j / r) i c * transposed sl i c))); [exact D|].
    rewrite sum_swap. apply sum_ext. intros i _. apply sum_ext. intros c _. unfold transposed at 2. f_equal. unfold product.
    rewrite <- sum_div. apply sum_ext. intros. unfold Rdiv, transposed. ring. Qed.

Lemma derivative_of_weights nk seen (s : R -> vector) (t : R) (sl : vector) j : (j < nk)%nat ->
  (forall m, (m < nk)%nat -> is_derive (fun u => s u m) t (sl m)) ->
  let a := masked_softmax nk seen (s t) in
  is_derive (fun u => masked_softmax nk seen (s u) j) t (a j * (sl j - sum nk (fun m => a m * sl m))).
Proof. intros J H a.
  assert (D : forall m, (m < nk)%nat -> is_derive (fun u => masked_exp (seen m) (s u m)) t (masked_exp (seen m) (s t m) * sl m)).
  { intros m M. unfold masked_exp. destruct (seen m).
    - rewrite Rmult_comm. apply (is_derive_comp exp (fun u => s u m)); [apply is_derive_exp|apply H, M].
    - rewrite Rmult_0_l. apply @is_derive_const. }
  assert (S : is_derive (fun u => sum nk (fun m => masked_exp (seen m) (s u m))) t (sum nk (fun m => masked_exp (seen m) (s t m) * sl m))).
  { apply (is_derive_sum nk (fun m u => masked_exp (seen m) (s u m))). exact D. }
  destruct (seen j) eqn:Sj.
  - assert (P : 0 < sum nk (fun m => masked_exp (seen m) (s t m))).
    { apply Rlt_le_trans with (masked_exp (seen j) (s t j)); [rewrite Sj; apply exp_pos|].
      apply (sum_term nk (fun m => masked_exp (seen m) (s t m)) j J). intros m _. unfold masked_exp. destruct (seen m); [left; apply exp_pos|lra]. }
    unfold masked_softmax at 1.
    replace (a j * (sl j - sum nk (fun m => a m * sl m)))
      with ((masked_exp (seen j) (s t j) * sl j * sum nk (fun m => masked_exp (seen m) (s t m))
        - masked_exp (seen j) (s t j) * sum nk (fun m => masked_exp (seen m) (s t m) * sl m)) / (sum nk (fun m => masked_exp (seen m) (s t m))) ^ 2).
    + apply (is_derive_div (fun u => masked_exp (seen j) (s u j)) (fun u => sum nk (fun m => masked_exp (seen m) (s u m)))); [apply D, J|exact S|lra].
    + unfold a, masked_softmax.
      rewrite (sum_ext nk (fun m => masked_exp (seen m) (s t m) / _ * sl m) (fun m => masked_exp (seen m) (s t m) * sl m / sum nk (fun m => masked_exp (seen m) (s t m)))) by (intros; unfold Rdiv; ring).
      rewrite sum_div. field. lra.
  - replace (a j * (sl j - sum nk (fun m => a m * sl m))) with 0.
    + apply (is_derive_ext (fun _ => 0)); [|apply @is_derive_const]. intro u. unfold masked_softmax, masked_exp. rewrite Sj. match goal with |- @eq _ ?x ?y => change (@eq R x y) end. unfold Rdiv. ring.
    + unfold a at 1, masked_softmax, masked_exp. rewrite Sj. unfold Rdiv. ring. Qed.
Lemma softmax_gradient nq nk mask L S dA : has_gradient nq nk L (weights_of nk mask S) dA ->
  has_gradient nq nk (fun S => L (weights_of nk mask S)) S (of_scores nk (weights_of nk mask S) dA).
Proof. intros H path t sl [P0 P]. set (A := weights_of nk mask S).
  apply (is_path_ext nq nk L A dA (fun u => weights_of nk mask (path u)) t (fun i j => A i j * (sl i j - sum nk (fun m => A i m * sl i m)))).
  - exact H.
  - split; [rewrite P0; reflexivity|]. intros i j I J.
    pose proof (derivative_of_weights nk (mask i) (fun u => path u i) t (sl i) j J (fun m M => P i m I M)) as D.
    cbv zeta beta in D. unfold A, weights_of. rewrite <- P0. exact D.
  - apply sum_ext. intros i _. unfold of_scores, score_gradient.
    rewrite (sum_ext nk (fun j => dA i j * _) (fun j => dA i j * A i j * sl i j - A i j * dA i j * sum nk (fun m => A i m * sl i m))) by (intros; ring).
    rewrite (sum_ext nk (fun j => A i j * (dA i j - _) * sl i j) (fun j => dA i j * A i j * sl i j - sum nk (fun j => A i j * dA i j) * (A i j * sl i j))) by (intros; ring).
    rewrite !sum_minus, sum_scal, sum_scal_r. reflexivity. Qed.

(* A layer as the page writes it: every gradient is that of the loss as a function of this matrix,
   while what the page computes from it changes with it. *)
Theorem gradients : forall (n nk dm dk dv : nat) (mask : nat -> nat -> bool) (loss : matrix -> R) (X Y WQ WK WV dO : matrix),
  let Q := product dm X WQ in let K := product dm Y WK in let V := product dm Y WV in
  let S := scores dk Q K in let A := weights_of nk mask S in let O := product nk A V in
  has_gradient n dv loss O dO ->
  let dV := product n (transposed A) dO in
  let dA := product dv dO (transposed V) in
  let dS := fun i m => A i m * (dA i m - sum nk (fun j => A i j * dA i j)) in
  let dQ := fun i b => product nk dS K i b / sqrt (INR dk) in
  let dK := fun j b => product n (transposed dS) Q j b / sqrt (INR dk) in
  has_gradient nk dv (fun V => loss (product nk A V)) V dV
  /\ has_gradient n nk (fun A => loss (product nk A V)) A dA
  /\ has_gradient n nk (fun S => loss (product nk (weights_of nk mask S) V)) S dS
  /\ has_gradient n dk (fun Q => loss (product nk (weights_of nk mask (scores dk Q K)) V)) Q dQ
  /\ has_gradient nk dk (fun K => loss (product nk (weights_of nk mask (scores dk Q K)) V)) K dK
  /\ has_gradient dm dk (fun WQ => loss (product nk (weights_of nk mask (scores dk (product dm X WQ) K)) V)) WQ (product n (transposed X) dQ)
  /\ has_gradient dm dk (fun WK => loss (product nk (weights_of nk mask (scores dk Q (product dm Y WK))) V)) WK (product nk (transposed Y) dK)
  /\ has_gradient dm dv (fun WV => loss (product nk A (product dm Y WV))) WV (product nk (transposed Y) dV)
  /\ (forall i, sum nk (dS i) = 0).
Proof. intros n nk dm dk dv mask loss X Y WQ WK WV dO Q K V S A O G dV dA dS dQ dK.
  pose proof (product_right n nk dv loss A V dO G) as GV.
  pose proof (product_left n nk dv loss A V dO G) as GA.
  pose proof (softmax_gradient n nk mask (fun A => loss (product nk A V)) S dA GA) as GS.
  pose proof (scaled_scores n nk dk (fun S => loss (product nk (weights_of nk mask S) V)) Q K dS GS) as [GQ GK].
  do 5 (split; [assumption|]). split; [|split; [|split]].
  - exact (product_right n dm dk (fun Q => loss (product nk (weights_of nk mask (scores dk Q K)) V)) X WQ dQ GQ).
  - exact (product_right nk dm dk (fun K => loss (product nk (weights_of nk mask (scores dk Q K)) V)) Y WK dK GK).
  - exact (product_right nk dm dv (fun V => loss (product nk A V)) Y WV dV GV).
  - intro i. unfold dS. rewrite (sum_ext nk _ (fun m => A i m * dA i m - A i m * sum nk (fun j => A i j * dA i j))) by (intros; ring).
    rewrite sum_minus, sum_scal_r. destruct (Req_dec (sum nk (fun m => masked_exp (mask i m) (S i m))) 0) as [Z|Z].
    + assert (N : forall m, A i m = 0) by (intro m; unfold A, weights_of, masked_softmax; rewrite Z; unfold Rdiv; rewrite Rinv_0; ring).
      rewrite (sum_zero nk (fun j => A i j * dA i j)); [ring|]. intros. rewrite N. ring.
    + assert (sum nk (A i) = 1) as ->; [|ring]. unfold A, weights_of, masked_softmax. rewrite sum_div. field. exact Z. Qed.

(* A step against the gradient: W holds the entries of all matrices that it changes. The loss falls by
   the promised amount times something that goes to 1 with the rate. *)
Theorem descent : forall (n m : nat) (L : matrix -> R) (W dW : matrix), has_gradient n m L W dW ->
  let promised := sum n (fun i => sum m (fun c => dW i c * dW i c)) in
  (exists i c, (i < n)%nat /\ (c < m)%nat /\ dW i c <> 0) ->
  is_lim (fun eta => (L W - L (fun i c => W i c - eta * dW i c)) / (eta * promised)) 0 1.
Proof. intros n m L W dW H promised (i & c & I & C & Ne).
  assert (P : 0 < promised).
  { apply Rlt_le_trans with (sum m (fun c => dW i c * dW i c)).
    - apply Rlt_le_trans with (dW i c * dW i c); [apply (Rsqr_pos_lt _ Ne)|].
      apply (sum_term m (fun c => dW i c * dW i c) c C). intros; apply Rle_0_sqr.
    - apply (sum_term n (fun i => sum m (fun c => dW i c * dW i c)) i I). intros. apply sum_nonneg. intros; apply Rle_0_sqr. }
  assert (D : is_derive (fun eta => L (fun i c => W i c - eta * dW i c)) 0 (- promised)).
  { apply (is_path_ext n m L W dW (fun eta i c => W i c - eta * dW i c) 0 (fun i c => - dW i c) _ H).
    - split.
      + apply functional_extensionality. intro a. apply functional_extensionality. intro b. ring.
      + intros a b _ _. auto_derive; [exact Logic.I|]. ring.
    - unfold promised. replace (- sum n _) with (-1 * sum n (fun i => sum m (fun c => dW i c * dW i c))) by ring.
      rewrite <- sum_scal. apply sum_ext. intros a _. rewrite <- sum_scal. apply sum_ext. intros. ring. }
  apply is_derive_Reals in D. apply is_lim_spec. intros eps.
  assert (Pe : 0 < eps * promised) by (apply Rmult_lt_0_compat; [apply cond_pos|exact P]).
  destruct (D _ Pe) as [delta Hd].
  exists delta. intros eta Hb Z. assert (Small : Rabs eta < delta).
  { unfold ball in Hb; simpl in Hb. unfold AbsRing_ball, minus, plus, opp in Hb; simpl in Hb. rewrite Ropp_0, Rplus_0_r in Hb. exact Hb. }
  specialize (Hd eta Z Small). rewrite Rplus_0_l in Hd.
  assert (L0 : (fun i c => W i c - 0 * dW i c) = W).
  { apply functional_extensionality. intro a. apply functional_extensionality. intro b. ring. }
  rewrite L0 in Hd. set (L1 := L (fun i c => W i c - eta * dW i c)) in *.
  replace ((L W - L1) / (eta * promised) - 1) with (- (((L1 - L W) / eta - - promised) / promised)) by (field; lra).
  rewrite Rabs_Ropp. unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_pos_eq (/ promised)) by (left; apply Rinv_0_lt_compat, P).
  apply (Rmult_lt_reg_r promised); [exact P|]. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.

(* m tokens have signs, of which number r is the right one; c is the factor before the signs. *)
Theorem shares : forall (P : space) (m r : nat) (sign : nat -> nat -> R) (c : R), (r < m)%nat ->
  (forall j w, (j < m)%nat -> sign j w = 1 \/ sign j w = -1) ->
  (forall j, (j < m)%nat -> E P (sign j) = 0) ->
  (forall i j, (i < m)%nat -> (j < m)%nat -> i <> j -> independent P (sign i) (sign j)) ->
  let output w := sum m (fun j => 1 / INR m * (c * sign j w)) in
  1 - 1 / INR m <= E P (fun w => (output w - sign r w) * (output w - sign r w)).
Proof. intros P m r sign c R0 Sg M0 In output. assert (Pm : 0 < INR m) by (apply lt_0_INR; lia).
  assert (Co : forall i j, (i < m)%nat -> (j < m)%nat -> E P (fun w => sign i w * sign j w) = if Nat.eqb i j then 1 else 0).
  { intros i j I J. destruct (Nat.eqb i j) eqn:Q.
    - apply Nat.eqb_eq in Q. subst j. rewrite (E_ext P _ (fun _ => 1)); [apply E_const|].
      intro w. destruct (Sg i w I) as [-> | ->]; ring.
    - apply Nat.eqb_neq in Q. rewrite (In i j I J Q (fun x => x) (fun x => x)), M0 by exact I. ring. }
  assert (V : E P (fun w => (output w - sign r w) * (output w - sign r w)) = (c - 1) * (c - 1) / INR m + (1 - 1 / INR m)).
  { set (k := c / INR m).
    assert (O : forall w, output w = k * sum m (fun j => sign j w)).
    { intro w. unfold output, k. rewrite <- sum_scal. apply sum_ext. intros. field. lra. }
    rewrite (E_ext P _ (fun w => k * k * sum m (fun i => sum m (fun j => sign i w * sign j w))
      - 2 * k * sum m (fun j => sign j w * sign r w) + sign r w * sign r w)).
    2:{ intro w. rewrite O. rewrite <- sum_product, sum_scal_r. ring. }
    rewrite E_plus, E_minus, !E_scal, !E_sum, Co by exact R0. rewrite Nat.eqb_refl.
    rewrite (sum_ext m (fun i => E P (fun w => sum m (fun j => sign i w * sign j w))) (fun _ => 1)).
    2:{ intros i I. rewrite E_sum, (sum_ext m _ (fun j => if Nat.eqb i j then 1 else 0)) by (intros; apply Co; assumption).
        apply (sum_one m i (fun _ => 1) I). }
    rewrite (sum_ext m (fun j => E P (fun w => sign j w * sign r w)) (fun j => if Nat.eqb r j then 1 else 0)).
    2:{ intros j J. rewrite Co by assumption. rewrite Nat.eqb_sym. reflexivity. }
    rewrite (sum_one m r (fun _ => 1) R0), sum_const. unfold k. field. lra. }
  rewrite V. assert (0 <= (c - 1) * (c - 1) / INR m); [|lra]. apply Rmult_le_pos; [apply Rle_0_sqr|left; apply Rinv_0_lt_compat, Pm]. Qed.

(* A token x asks, a token y answers; the outcome w brings the matrices. Independence of whole
   matrices and of each two entries of one follows from the independence of all entries. *)
Theorem start : forall (P : space) (dm dk : nat) (v : R) (x y : vector) (WQ WK : nat -> matrix), (0 < dk)%nat ->
  dot dm x x = INR dm -> dot dm y y = INR dm -> independent P WQ WK ->
  (forall W, W = WQ \/ W = WK -> forall a b, (a < dm)%nat -> (b < dk)%nat ->
    E P (fun w => W w a b) = 0 /\ Var P (fun w => W w a b) = v
    /\ forall a' b', (a' < dm)%nat -> (b' < dk)%nat -> (a, b) <> (a', b') -> independent P (fun w => W w a b) (fun w => W w a' b')) ->
  let score w := dot dk (product dm (fun _ => x) (WQ w) 0%nat) (product dm (fun _ => y) (WK w) 0%nat) in
  E P (fun w => score w / sqrt (INR dk)) = 0
  /\ Var P (fun w => score w / sqrt (INR dk)) = (INR dm * v) * (INR dm * v)
  /\ Var P score = INR dk * ((INR dm * v) * (INR dm * v)).
Proof. intros P dm dk v x y WQ WK D X Y In H score. assert (Pd : 0 < INR dk) by (apply lt_0_INR; lia).
  set (q := fun (W : nat -> matrix) (z : vector) w c => sum dm (fun a => z a * W w a c)).
  assert (M : forall W z c, W = WQ \/ W = WK -> (c < dk)%nat -> E P (fun w => q W z w c) = 0).
  { intros W z c HW C. unfold q. rewrite E_sum. apply sum_zero. intros a A. rewrite E_scal. destruct (H W HW a c A C) as [-> _]. ring. }
  assert (S : forall W z c e, W = WQ \/ W = WK -> dot dm z z = INR dm -> (c < dk)%nat -> (e < dk)%nat ->
    E P (fun w => q W z w c * q W z w e) = if Nat.eqb c e then INR dm * v else 0).
  { intros W z c e HW Z C Ee. unfold q.
    rewrite (E_ext P _ (fun w => sum dm (fun a => sum dm (fun b => (z a * z b) * (W w a c * W w b e))))).
    2:{ intro w. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
    rewrite E_sum, (sum_ext dm _ (fun a => if Nat.eqb c e then z a * z a * v else 0)).
    - destruct (Nat.eqb c e); [|apply sum_zero; reflexivity]. rewrite sum_scal_r. unfold dot in Z. rewrite Z. reflexivity.
    - intros a A. rewrite E_sum. destruct (H W HW a c A C) as (Ma & Va & Ia).
      rewrite (sum_ext dm _ (fun b => if Nat.eqb a b then (if Nat.eqb c e then z a * z b * v else 0) else 0)).
      + rewrite (sum_one dm a (fun b => if Nat.eqb c e then z a * z b * v else 0) A). reflexivity.
      + intros b B. rewrite E_scal. destruct (Nat.eqb a b) eqn:Qa; destruct (Nat.eqb c e) eqn:Qc.
        * apply Nat.eqb_eq in Qa, Qc. subst b e. rewrite Var_moments, Ma in Va. replace (E P (fun w => W w a c * W w a c)) with v by lra. reflexivity.
        * apply Nat.eqb_neq in Qc. rewrite (Ia b e B Ee ltac:(congruence) (fun x => x) (fun x => x)), Ma. ring.
        * apply Nat.eqb_neq in Qa. rewrite (Ia b e B Ee ltac:(congruence) (fun x => x) (fun x => x)), Ma. ring.
        * apply Nat.eqb_neq in Qa. rewrite (Ia b e B Ee ltac:(congruence) (fun x => x) (fun x => x)), Ma. ring. }
  assert (Sc : forall w, score w = sum dk (fun c => q WQ x w c * q WK y w c)) by reflexivity.
  assert (F : forall f g, E P (fun w => f (WQ w) * g (WK w)) = E P (fun w => f (WQ w)) * E P (fun w => g (WK w))) by exact In.
  assert (M0 : E P score = 0).
  { rewrite (E_ext P _ _ Sc), E_sum. apply sum_zero. intros c C.
    pose proof (F (fun W => sum dm (fun a => x a * W a c)) (fun W => sum dm (fun a => y a * W a c))) as Q.
    change (E P (fun w => q WQ x w c * q WK y w c) = E P (fun w => q WQ x w c) * E P (fun w => q WK y w c)) in Q.
    rewrite Q, (M WQ x c) by auto. ring. }
  assert (V : Var P score = INR dk * ((INR dm * v) * (INR dm * v))).
  { rewrite Var_moments, M0.
    rewrite (E_ext P _ (fun w => sum dk (fun c => sum dk (fun e => (q WQ x w c * q WQ x w e) * (q WK y w c * q WK y w e))))).
    2:{ intro w. rewrite Sc, sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
    rewrite E_sum, (sum_ext dk _ (fun _ => (INR dm * v) * (INR dm * v))); [rewrite sum_const; ring|].
    intros c C. rewrite E_sum, (sum_ext dk _ (fun e => if Nat.eqb c e then (INR dm * v) * (INR dm * v) else 0)).
    - apply (sum_one dk c (fun _ => (INR dm * v) * (INR dm * v)) C).
    - intros e Ee. pose proof (F (fun W => sum dm (fun a => x a * W a c) * sum dm (fun a => x a * W a e))
        (fun W => sum dm (fun a => y a * W a c) * sum dm (fun a => y a * W a e))) as Q.
      change (E P (fun w => (q WQ x w c * q WQ x w e) * (q WK y w c * q WK y w e))
        = E P (fun w => q WQ x w c * q WQ x w e) * E P (fun w => q WK y w c * q WK y w e)) in Q.
      rewrite Q, !S by auto. destruct (Nat.eqb c e); ring. }
  assert (R : / sqrt (INR dk) * / sqrt (INR dk) * INR dk = 1).
  { rewrite <- (sqrt_sqrt (INR dk)) at 3 by lra. field. apply Rgt_not_eq, sqrt_lt_R0, Pd. }
  split; [|split; [|exact V]].
  - unfold Rdiv. rewrite (E_ext P _ (fun w => / sqrt (INR dk) * score w)) by (intro; ring). rewrite E_scal, M0. ring.
  - unfold Rdiv. rewrite Var_moments. rewrite (E_ext P (fun w => score w * / sqrt (INR dk)) (fun w => / sqrt (INR dk) * score w)) by (intro; ring).
    rewrite (E_ext P _ (fun w => (/ sqrt (INR dk) * / sqrt (INR dk)) * (score w * score w))) by (intro; ring).
    rewrite !E_scal, M0. rewrite Var_moments, M0 in V. replace (E P (fun w => score w * score w)) with (INR dk * (INR dm * v * (INR dm * v))) by lra.
    replace (/ sqrt (INR dk) * / sqrt (INR dk) * (INR dk * (INR dm * v * (INR dm * v))) - / sqrt (INR dk) * 0 * (/ sqrt (INR dk) * 0))
      with ((/ sqrt (INR dk) * / sqrt (INR dk) * INR dk) * (INR dm * v * (INR dm * v))) by ring. rewrite R. ring. Qed.
