(* Linear attention: a state in place of all pairs, and the delta rule. *)
From Attention Require Import Basics.

(* Linear attention: the state S of row i holds the sums of phi(k) times v, and z those of phi(k). *)
Fixpoint state (i : nat) (phi_k V : matrix) : matrix :=
  match i with
  | O => fun r c => phi_k 0%nat r * V 0%nat c
  | S i => fun r c => state i phi_k V r c + phi_k (S i) r * V (S i) c
  end.
Fixpoint divisor (i : nat) (phi_k : matrix) : vector :=
  match i with O => phi_k 0%nat | S i => fun r => divisor i phi_k r + phi_k (S i) r end.
(* Multiplications and additions of a product of a by b and b by c numbers *)
Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.
Theorem linear : forall (f : nat) (phi_q phi_k V : matrix) (i c n dv : nat),
  (0 < f)%nat -> (forall j r, 0 < phi_q j r) -> (forall j r, 0 < phi_k j r) ->
  let w j := dot f (phi_q i) (phi_k j) in
  average (S i) (fun j => w j / sum (S i) w) V c
  = sum f (fun r => phi_q i r * state i phi_k V r c) / dot f (phi_q i) (divisor i phi_k)
  /\ sum (S i) (fun j => w j / sum (S i) w) = 1
  /\ (product_operations n f n + product_operations n n dv = 2 * n * n * (f + dv))%nat
  /\ (product_operations f n dv + product_operations n f dv = 4 * n * f * dv)%nat.
Proof. intros f q k V i c n dv F Pq Pk w.
  assert (P : 0 < sum (S i) w).
  { apply sum_pos; [lia|]. intros j _. apply sum_pos; [exact F|]. intros r _. apply Rmult_lt_0_compat; auto. }
  assert (St : forall r, state i k V r c = sum (S i) (fun j => k j r * V j c)).
  { intro r. clear P w. induction i as [|i IH]; [simpl; ring|]. cbn [state]. rewrite IH. reflexivity. }
  assert (Di : forall r, divisor i k r = sum (S i) (fun j => k j r)).
  { intro r. clear P w St. induction i as [|i IH]; [simpl; ring|]. cbn [divisor]. rewrite IH. reflexivity. }
  assert (N : sum f (fun r => q i r * state i k V r c) = sum (S i) (fun j => w j * V j c)).
  { rewrite (sum_ext f _ (fun r => sum (S i) (fun j => q i r * k j r * V j c))).
    - rewrite sum_swap. apply sum_ext. intros j _. rewrite sum_scal_r. reflexivity.
    - intros r _. rewrite St, <- sum_scal. apply sum_ext. intros. ring. }
  assert (Dn : dot f (q i) (divisor i k) = sum (S i) w).
  { unfold w, dot. rewrite sum_swap. apply sum_ext. intros r _. rewrite Di, <- sum_scal. reflexivity. }
  repeat split.
  - rewrite N, Dn. unfold average. rewrite <- sum_div. apply sum_ext. intros. field. lra.
  - rewrite sum_div. field. lra.
  - unfold product_operations. nia.
  - unfold product_operations. nia. Qed.

(* The delta rule: S_i = S_(i-1) + beta k (v - k S_(i-1)), as a sum of outer products *)
Definition read (d : nat) (q : vector) (M : matrix) : vector := fun c => sum d (fun a => q a * M a c).
Definition write (d : nat) (beta : R) (k v : vector) (M : matrix) : matrix :=
  fun a c => M a c + beta * k a * (v c - read d k M c).
Theorem delta : forall (d : nat) (k v : vector) (M : matrix) (c : nat),
  (dot d k k = 1 -> read d k (write d 1 k v M) c = v c)
  /\ (forall (beta : R) (q : vector), dot d q k = 0 -> read d q (write d beta k v M) c = read d q M c).
Proof. intros d k v M c.
  assert (R : forall beta q, read d q (write d beta k v M) c = read d q M c + dot d q k * (beta * (v c - read d k M c))).
  { intros. change (read d q M c) with (sum d (fun a => q a * M a c)). unfold read at 1, write, dot. rewrite <- sum_scal_r, <- sum_plus. apply sum_ext. intros. ring. }
  split.
  - intro H. rewrite R, H. ring.
  - intros beta q H. rewrite R, H. ring. Qed.

(* Columns made orthogonal one after the other. Direction k is what column k adds, at length 1, or 0
   if it adds nothing. *)
Fixpoint directions (n : nat) (columns : matrix) (k : nat) : matrix :=
  match k with
  | O => fun _ _ => 0
  | S k => let U := directions n columns k in
      let rest c := columns k c - sum k (fun i => dot n (U i) (columns k) * U i c) in
      fun i c => if Nat.eqb i k then rest c / norm n rest else U i c
  end.
Definition independent_columns (n f : nat) (Phi : matrix) : Prop := forall s : vector,
  (forall j, (j < n)%nat -> sum f (fun k => Phi j k * s k) = 0) -> forall k, (k < f)%nat -> s k = 0.
Definition orthogonal (n k : nat) (U : matrix) : Prop :=
  forall i j, (i < k)%nat -> (j < k)%nat -> i <> j -> dot n (U i) (U j) = 0.
Definition unit_or_zero (n : nat) (u : vector) : Prop := dot n u u = 1 \/ forall c, (c < n)%nat -> u c = 0.

Lemma dot_ext n x x' y : (forall c, (c < n)%nat -> x c = x' c) -> dot n x y = dot n x' y.
Proof. intro H. apply sum_ext. intros c L. rewrite (H c L). reflexivity. Qed.
Lemma dot_sym n x y : dot n x y = dot n y x.
Proof. apply sum_ext. intros. ring. Qed.
Lemma dot_plus n x y z : dot n (fun c => x c + y c) z = dot n x z + dot n y z.
Proof. unfold dot. rewrite <- sum_plus. apply sum_ext. intros. ring. Qed.
Lemma dot_mixture n k a U y : dot n (fun c => sum k (fun i => a i * U i c)) y = sum k (fun i => a i * dot n (U i) y).
Proof. unfold dot. rewrite (sum_ext n _ (fun c => sum k (fun i => a i * (U i c * y c)))).
  - rewrite sum_swap. apply sum_ext. intros i _. apply (sum_scal n (a i) (fun c => U i c * y c)).
  - intros c _. rewrite <- sum_scal_r. apply sum_ext. intros. ring. Qed.
Lemma dot_of_direction n k a U i : orthogonal n k U -> (i < k)%nat ->
  dot n (U i) (fun c => sum k (fun j => a j * U j c)) = a i * dot n (U i) (U i).
Proof. intros O I. rewrite dot_sym, dot_mixture, <- (sum_one k i (fun j => a j * dot n (U j) (U i)) I).
  apply sum_ext. intros j J. destruct (Nat.eqb i j) eqn:Q; [reflexivity|]. apply Nat.eqb_neq in Q.
  rewrite (O j i J I (not_eq_sym Q)). ring. Qed.

Lemma directions_orthogonal n C k : let U := directions n C k in
  orthogonal n k U /\ (forall i, (i < k)%nat -> unit_or_zero n (U i))
  /\ (forall m c, (m < k)%nat -> (c < n)%nat -> C m c = sum k (fun i => dot n (U i) (C m) * U i c))
  /\ (exists b : matrix, forall i c, (i < k)%nat -> (c < n)%nat -> U i c = sum k (fun m => b i m * C m c))
  /\ (independent_columns n k (transposed C) -> forall i, (i < k)%nat -> dot n (U i) (U i) = 1).
Proof. induction k as [|k IH]; cbv zeta in *.
  { repeat split; [intros i j I; lia|intros i I; lia|intros m c I; lia| |intros _ i I; lia].
    exists (fun _ _ => 0). intros i c I. lia. }
  set (U := directions n C k) in *. destruct IH as (O & N & Sp & (b & B) & L).
  set (rest := fun c => C k c - sum k (fun i => dot n (U i) (C k) * U i c)).
  set (new := fun c => rest c / norm n rest).
  set (U' := fun i c => if Nat.eqb i k then rest c / norm n rest else U i c).
  change (directions n C (S k)) with U'.
  assert (Old : forall i, (i < k)%nat -> U' i = U i).
  { intros i I. apply functional_extensionality. intro c. unfold U'. replace (Nat.eqb i k) with false; [reflexivity|].
    symmetry. apply Nat.eqb_neq. lia. }
  assert (New : U' k = new) by (apply functional_extensionality; intro c; unfold U'; rewrite Nat.eqb_refl; reflexivity).
  assert (P : forall i, (i < k)%nat -> dot n (U i) rest = 0).
  { intros i I. unfold rest. transitivity (dot n (U i) (C k) - dot n (U i) (fun c => sum k (fun j => dot n (U j) (C k) * U j c))).
    - unfold dot. rewrite <- sum_minus. apply sum_ext. intros. ring.
    - rewrite (dot_of_direction n k (fun j => dot n (U j) (C k)) U i O I). destruct (N i I) as [E|Z]; [rewrite E; ring|].
      rewrite (dot_ext n (U i) (fun _ => 0) (C k) Z). unfold dot. rewrite (sum_zero n (fun c => 0 * C k c)); [ring|intros; ring]. }
  assert (Pn : forall i, (i < k)%nat -> dot n (U i) new = 0).
  { intros i I. transitivity (dot n (U i) rest / norm n rest); [|rewrite P by exact I; unfold Rdiv; ring].
    unfold dot, new. rewrite <- sum_div. apply sum_ext. intros. unfold Rdiv. ring. }
  assert (Sq : dot n new new = dot n rest rest / (norm n rest * norm n rest)).
  { unfold Rdiv. rewrite Rinv_mult. unfold dot, new, Rdiv. rewrite <- sum_scal_r. apply sum_ext. intros. ring. }
  rewrite norm_squared in Sq.
  assert (Zero : dot n rest rest = 0 -> forall c, (c < n)%nat -> rest c = 0).
  { intros E c I. unfold dot in E. pose proof (sum_term n (fun c => rest c * rest c) c I) as T. cbv beta in T.
    assert (rest c * rest c <= 0) by (rewrite <- E; apply T; intros; apply Rle_0_sqr). nra. }
  assert (Back : forall c, (c < n)%nat -> rest c = dot n new (C k) * new c).
  { intros c I. destruct (Req_dec (dot n rest rest) 0) as [E|E].
    - unfold new. rewrite (Zero E c I). unfold Rdiv. ring.
    - assert (Nz : norm n rest <> 0) by (intro Q; apply E; rewrite <- norm_squared, Q; ring).
      assert (dot n rest (C k) = dot n rest rest).
      { rewrite dot_sym, (dot_ext n (C k) (fun c => rest c + sum k (fun i => dot n (U i) (C k) * U i c)) rest)
          by (intros; unfold rest; ring).
        rewrite dot_plus, dot_mixture, (sum_zero k (fun i => _)); [ring|]. intros i Li. rewrite P by exact Li. ring. }
      assert (Q : dot n new (C k) = norm n rest).
      { transitivity (dot n rest (C k) / norm n rest); [unfold dot, new; rewrite <- sum_div; apply sum_ext; intros; unfold Rdiv; ring|].
        rewrite H, <- norm_squared. field. exact Nz. }
      rewrite Q. unfold new. field. exact Nz. }
  split; [|split; [|split; [|split]]].
  - intros i j I J D. destruct (Nat.eq_dec i k) as [->|Ni]; destruct (Nat.eq_dec j k) as [->|Nj]; [lia| | |].
    + rewrite New, Old, dot_sym by lia. apply Pn. lia.
    + rewrite New, Old by lia. apply Pn. lia.
    + rewrite !Old by lia. apply O; lia.
  - intros i I. destruct (Nat.eq_dec i k) as [->|Ni]; [|rewrite Old by lia; apply N; lia].
    rewrite New. destruct (Req_dec (dot n rest rest) 0) as [E|E].
    + right. intros c Lc. unfold new. rewrite (Zero E c Lc). unfold Rdiv. ring.
    + left. rewrite Sq. field. exact E.
  - intros m c Lm Lc. cbn [sum]. rewrite New, (sum_ext k _ (fun i => dot n (U i) (C m) * U i c)) by (intros i I; rewrite Old by exact I; reflexivity).
    destruct (Nat.eq_dec m k) as [->|Nm].
    + rewrite <- Back by exact Lc. unfold rest. ring.
    + rewrite (Sp m c) at 1 by lia. rewrite (dot_sym n new), (dot_ext n (C m) (fun c => sum k (fun i => dot n (U i) (C m) * U i c)) new).
      * rewrite dot_mixture, (sum_zero k (fun i => dot n (U i) (C m) * dot n (U i) new)); [ring|]. intros i I. rewrite Pn by exact I. ring.
      * intros e Le. apply Sp; lia.
  - exists (fun i m => if Nat.eqb i k then ((if Nat.eqb m k then 1 else - sum k (fun i => dot n (U i) (C k) * b i m)) / norm n rest)
                       else if Nat.eqb m k then 0 else b i m).
    intros i c I Lc. cbn [sum]. rewrite !Nat.eqb_refl. destruct (Nat.eq_dec i k) as [->|Ni].
    + rewrite New, Nat.eqb_refl. unfold new. generalize (norm n rest) as z. intro z. unfold rest.
      rewrite (sum_ext k (fun i => dot n (U i) (C k) * U i c) (fun i => sum k (fun m => dot n (U i) (C k) * b i m * C m c))).
      2:{ intros i Li. rewrite (B i c Li Lc), <- sum_scal. apply sum_ext. intros. ring. }
      rewrite sum_swap, (sum_ext k (fun m => (if Nat.eqb m k then 1 else _) / _ * C m c)
        (fun m => - (sum k (fun i => dot n (U i) (C k) * b i m * C m c)) / z)).
      * rewrite sum_div. rewrite (sum_ext k (fun m => - sum k _) (fun m => -1 * sum k (fun i => dot n (U i) (C k) * b i m * C m c))) by (intros; ring).
        rewrite sum_scal. unfold Rdiv. ring.
      * intros m Lm. replace (Nat.eqb m k) with false by (symmetry; apply Nat.eqb_neq; lia). rewrite sum_scal_r. unfold Rdiv. ring.
    + replace (Nat.eqb i k) with false by (symmetry; apply Nat.eqb_neq; exact Ni). rewrite Old by lia. rewrite (B i c) by lia.
      rewrite Rmult_0_l, Rplus_0_r. apply sum_ext. intros m Lm. replace (Nat.eqb m k) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
  - intros Ind i I. destruct (Nat.eq_dec i k) as [->|Ni].
    + rewrite New, Sq. destruct (Req_dec (dot n rest rest) 0) as [E|E]; [exfalso|field; exact E].
      set (s := fun m => if Nat.eqb m k then 1 else - sum k (fun i => dot n (U i) (C k) * b i m)).
      enough (s k = 0) by (unfold s in H; rewrite Nat.eqb_refl in H; lra). apply Ind; [|lia].
      intros c Lc. cbn [sum]. unfold s at 2. rewrite Nat.eqb_refl. unfold transposed. rewrite <- (Zero E c Lc). unfold rest.
      rewrite (sum_ext k (fun i => dot n (U i) (C k) * U i c) (fun i => sum k (fun m => dot n (U i) (C k) * b i m * C m c))).
      2:{ intros j Lj. rewrite (B j c Lj Lc), <- sum_scal. apply sum_ext. intros. ring. }
      rewrite sum_swap, (sum_ext k (fun m => C m c * s m) (fun m => -1 * sum k (fun i => dot n (U i) (C k) * b i m * C m c))).
      * rewrite sum_scal. ring.
      * intros m Lm. unfold s. replace (Nat.eqb m k) with false by (symmetry; apply Nat.eqb_neq; lia). rewrite sum_scal_r. ring.
    + rewrite Old by lia. apply L; [|lia]. intros s Hs m Lm.
      set (s' := fun m => if Nat.eqb m k then 0 else s m).
      enough (s' m = 0) by (unfold s' in H; replace (Nat.eqb m k) with false in H by (symmetry; apply Nat.eqb_neq; lia); exact H).
      apply Ind; [|lia]. intros c Lc. cbn [sum]. unfold s' at 2. rewrite Nat.eqb_refl, Rmult_0_r, Rplus_0_r, <- (Hs c Lc).
      apply sum_ext. intros e Le. unfold s'. replace (Nat.eqb e k) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. Qed.

Lemma square_of_difference n k a U v x : orthogonal n k U -> (forall j, (j < n)%nat -> x j = sum k (fun i => a i * U i j)) ->
  dot n (fun j => v j - x j) (fun j => v j - x j)
  = dot n v v + sum k (fun i => a i * a i * dot n (U i) (U i) - 2 * a i * dot n (U i) v).
Proof. intros O X. set (y := fun j => sum k (fun i => a i * U i j)).
  transitivity (dot n v v - 2 * dot n y v + dot n y y).
  - unfold dot. rewrite <- sum_scal, <- sum_minus, <- sum_plus. apply sum_ext. intros j J. rewrite (X j J). unfold y. ring.
  - unfold y at 1 2. rewrite !dot_mixture. fold y. rewrite sum_minus.
    rewrite (sum_ext k (fun i => a i * dot n (U i) y) (fun i => a i * a i * dot n (U i) (U i))).
    + rewrite (sum_ext k (fun i => 2 * a i * dot n (U i) v) (fun i => 2 * (a i * dot n (U i) v))) by (intros; ring). rewrite sum_scal. ring.
    + intros i I. unfold y. rewrite (dot_of_direction n k a U i O I). ring. Qed.

(* What is read back is Phi S; the squares of a matrix of n rows and m columns *)
Definition squares (n m : nat) (A : matrix) : R := sum m (fun c => sum n (fun j => A j c * A j c)).
Definition error (n f m : nat) (Phi S V : matrix) : R := squares n m (fun j c => V j c - product f Phi S j c).
Definition independent_components (P : space) (n m : nat) (V : nat -> matrix) : Prop :=
  (forall j c, (j < n)%nat -> (c < m)%nat -> E P (fun w => V w j c) = 0 /\ Var P (fun w => V w j c) = 1)
  /\ (forall i j c, (i < n)%nat -> (j < n)%nat -> (c < m)%nat -> i <> j ->
      independent P (fun w => V w i c) (fun w => V w j c)).
Lemma moments P n m V i j c : independent_components P n m V -> (i < n)%nat -> (j < n)%nat -> (c < m)%nat ->
  E P (fun w => V w i c * V w j c) = if Nat.eqb i j then 1 else 0.
Proof. intros [M I] Li Lj Lc. destruct (Nat.eqb i j) eqn:Q.
  - apply Nat.eqb_eq in Q. subst j. destruct (M i c Li Lc) as [Z O]. rewrite Var_moments, Z in O. lra.
  - apply Nat.eqb_neq in Q. rewrite (I i j c Li Lj Lc Q (fun x => x) (fun x => x)).
    rewrite (proj1 (M i c Li Lc)). ring. Qed.
Lemma seen_by_direction P n m Phi V (u : matrix -> vector) c : independent P Phi V -> independent_components P n m V -> (c < m)%nat ->
  E P (fun w => dot n (u (Phi w)) (fun j => V w j c) * dot n (u (Phi w)) (fun j => V w j c)) = E P (fun w => dot n (u (Phi w)) (u (Phi w))).
Proof. intros I C Lc.
  transitivity (sum n (fun i => sum n (fun j => E P (fun w => u (Phi w) i * u (Phi w) j) * (if Nat.eqb i j then 1 else 0)))).
  - transitivity (E P (fun w => sum n (fun i => sum n (fun j => (u (Phi w) i * u (Phi w) j) * (V w i c * V w j c))))).
    + apply E_ext. intro w. unfold dot. rewrite sum_product. apply sum_ext. intros i _. apply sum_ext. intros j _. ring.
    + rewrite E_sum. apply sum_ext. intros i Li. rewrite E_sum. apply sum_ext. intros j Lj.
      rewrite (I (fun A => u A i * u A j) (fun A => A i c * A j c)), (moments P n m V) by assumption. reflexivity.
  - unfold dot. rewrite E_sum. apply sum_ext. intros i Li.
    rewrite <- (sum_one n i (fun j => E P (fun w => u (Phi w) i * u (Phi w) j)) Li). apply sum_ext. intros j _.
    destruct (Nat.eqb i j); ring. Qed.
Lemma finite_choice {A : Type} (a : A) n (Q : nat -> A -> Prop) : (forall w, (w < n)%nat -> exists x, Q w x) ->
  exists s : nat -> A, forall w, (w < n)%nat -> Q w (s w).
Proof. induction n as [|n IH]; intro H; [exists (fun _ => a); lia|].
  destruct IH as [s S]; [intros; apply H; lia|]. destruct (H n) as [x X]; [lia|].
  exists (fun w => if Nat.eqb w n then x else s w). intros w W. destruct (Nat.eqb w n) eqn:Z.
  - apply Nat.eqb_eq in Z. subst w. exact X.
  - apply Nat.eqb_neq in Z. apply S. lia. Qed.
Lemma E_below P X Y : (forall w, (w < outcomes P)%nat -> X w <= Y w) -> E P X <= E P Y.
Proof. intro H. apply sum_le. intros w W. apply Rmult_le_compat_l; [apply chance_nonneg|apply H, W]. Qed.

(* An outcome brings the features Phi of the n keys and their values V. A state is any matrix of f
   rows; it may have been chosen for these features and values. *)
Theorem recall : forall (P : space) (n f m : nat) (Phi V : nat -> matrix), (0 < n)%nat ->
  independent P Phi V -> independent_components P n m V ->
  E P (fun w => squares n m (V w)) = INR n * INR m
  /\ (forall S : nat -> matrix,
      (1 - INR f / INR n) * E P (fun w => squares n m (V w)) <= E P (fun w => error n f m (Phi w) (S w) (V w)))
  /\ ((forall w, (w < outcomes P)%nat -> independent_columns n f (Phi w)) ->
      exists S : nat -> matrix,
        E P (fun w => error n f m (Phi w) (S w) (V w)) = (1 - INR f / INR n) * E P (fun w => squares n m (V w))).
Proof. intros P n f m Phi V N I C. apply lt_INR in N. simpl in N.
  set (U := fun A : matrix => directions n (transposed A) f).
  set (col := fun (A : matrix) c j => A j c).
  (* the squares that the directions of the features see *)
  set (seen := fun w => sum m (fun c => sum f (fun i => dot n (U (Phi w) i) (col (V w) c) * dot n (U (Phi w) i) (col (V w) c)))).
  assert (Total : E P (fun w => squares n m (V w)) = INR n * INR m).
  { unfold squares. rewrite E_sum, (sum_ext m _ (fun _ => INR n)); [rewrite sum_const; ring|]. intros c Lc.
    rewrite E_sum, (sum_ext n _ (fun _ => 1)); [rewrite sum_const; ring|]. intros j J.
    rewrite (moments P n m V j j c C J J Lc), Nat.eqb_refl. reflexivity. }
  assert (Seen : E P seen = INR m * sum f (fun i => E P (fun w => dot n (U (Phi w) i) (U (Phi w) i)))).
  { unfold seen. rewrite E_sum, (sum_ext m _ (fun _ => sum f (fun i => E P (fun w => dot n (U (Phi w) i) (U (Phi w) i))))).
    - apply sum_const.
    - intros c Lc. rewrite E_sum. apply sum_ext. intros i _. exact (seen_by_direction P n m Phi V (fun A => U A i) c I C Lc). }
  assert (Goal_ : (1 - INR f / INR n) * (INR n * INR m) = INR n * INR m - INR m * INR f) by (field; lra).
  assert (Split : forall A B S, (forall c, (c < m)%nat -> exists a : vector,
      (forall j, (j < n)%nat -> product f A S j c = sum f (fun i => a i * U A i j))
      /\ sum f (fun i => - (dot n (U A i) (col B c) * dot n (U A i) (col B c)))
         <= sum f (fun i => a i * a i * dot n (U A i) (U A i) - 2 * a i * dot n (U A i) (col B c))) ->
    squares n m B - sum m (fun c => sum f (fun i => dot n (U A i) (col B c) * dot n (U A i) (col B c))) <= error n f m A S B).
  { intros A B S H. unfold error, squares. rewrite <- sum_minus. apply sum_le. intros c Lc. destruct (H c Lc) as (a & X & L).
    destruct (directions_orthogonal n (transposed A) f) as (O & _).
    pose proof (square_of_difference n f a (U A) (col B c) (fun j => product f A S j c) O X) as D.
    unfold dot at 1 2, col at 1 2 3 4 in D. rewrite D. 
    rewrite (sum_ext f (fun i => - _) (fun i => -1 * (dot n (U A i) (col B c) * dot n (U A i) (col B c)))) in L by (intros; ring).
    rewrite sum_scal in L. lra. }
  rewrite Total. split; [reflexivity|]. split.
  - intro S. rewrite Goal_.
    apply Rle_trans with (E P (fun w => squares n m (V w) - seen w)).
    + rewrite E_minus, Total, Seen. assert (sum f (fun i => E P (fun w => dot n (U (Phi w) i) (U (Phi w) i))) <= sum f (fun _ => 1)).
      { apply sum_le. intros i Li. rewrite <- (E_const P 1). apply E_below. intros w _.
        destruct (directions_orthogonal n (transposed (Phi w)) f) as (_ & Nn & _). destruct (Nn i Li) as [Q|Z]; [unfold U; lra|].
        unfold U. rewrite (dot_ext n _ (fun _ => 0) _ Z). unfold dot. rewrite sum_zero; [lra|intros; ring]. }
      rewrite sum_const in H. pose proof (pos_INR m). nra.
    + apply E_below. intros w _. apply Split. intros c Lc.
      destruct (directions_orthogonal n (transposed (Phi w)) f) as (_ & Nn & Sp & _).
      exists (fun i => sum f (fun k => S w k c * dot n (U (Phi w) i) (transposed (Phi w) k))). split.
      * intros j J. unfold product. rewrite (sum_ext f _ (fun k => sum f (fun i => S w k c * dot n (U (Phi w) i) (transposed (Phi w) k) * U (Phi w) i j))).
        -- rewrite sum_swap. apply sum_ext. intros i _. rewrite sum_scal_r. reflexivity.
        -- intros k Lk. transitivity (S w k c * transposed (Phi w) k j); [unfold transposed; ring|].
           rewrite (Sp k j Lk J), <- sum_scal. apply sum_ext. intros. unfold U. ring.
      * apply sum_le. intros i Li. set (a := sum f _). destruct (Nn i Li) as [Q|Z].
        -- unfold U. rewrite Q. set (b := dot n _ (col _ _)). pose proof (Rle_0_sqr (a - b)) as Sq. unfold Rsqr in Sq. lra.
        -- unfold U. rewrite !(dot_ext n _ (fun _ => 0) _ Z). unfold dot. rewrite !sum_zero by (intros; ring). lra.
  - intro R.
    assert (Best : forall w, (w < outcomes P)%nat -> exists S : matrix, error n f m (Phi w) S (V w) = squares n m (V w) - seen w).
    { intros w W. destruct (directions_orthogonal n (transposed (Phi w)) f) as (O & _ & _ & (b & B) & L).
      exists (fun k c => sum f (fun i => dot n (U (Phi w) i) (col (V w) c) * b i k)).
      unfold error, squares, seen. rewrite <- sum_minus. apply sum_ext. intros c Lc.
      set (a := fun i => dot n (U (Phi w) i) (col (V w) c)).
      assert (X : forall j, (j < n)%nat -> product f (Phi w) (fun k c => sum f (fun i => dot n (U (Phi w) i) (col (V w) c) * b i k)) j c
        = sum f (fun i => a i * U (Phi w) i j)).
      { intros j J. unfold product. rewrite (sum_ext f _ (fun k => sum f (fun i => a i * (b i k * transposed (Phi w) k j)))).
        - rewrite sum_swap. apply sum_ext. intros i Li. rewrite sum_scal. f_equal. symmetry. apply B; assumption.
        - intros k _. rewrite <- sum_scal. apply sum_ext. intros. unfold a, transposed. ring. }
      pose proof (square_of_difference n f a (U (Phi w)) (col (V w) c) _ O X) as D.
      etransitivity; [exact D|]. change (sum n (fun j => V w j c * V w j c)) with (dot n (col (V w) c) (col (V w) c)).
      rewrite (sum_ext f (fun i => a i * a i * _ - _) (fun i => -1 * (a i * a i))).
      - rewrite sum_scal. unfold a. ring.
      - intros i Li. unfold U at 1 2. rewrite (L (R w W) i Li). fold (a i). ring. }
    destruct (finite_choice (fun _ _ => 0) _ _ Best) as [S HS]. exists S. rewrite Goal_.
    transitivity (E P (fun w => squares n m (V w) - seen w)).
    + apply sum_ext. intros w W. rewrite (HS w W). reflexivity.
    + rewrite E_minus, Total, Seen. rewrite (sum_ext f _ (fun _ => 1)); [rewrite sum_const; ring|].
      intros i Li. rewrite <- (E_const P 1). apply sum_ext. intros w W.
      destruct (directions_orthogonal n (transposed (Phi w)) f) as (_ & _ & _ & _ & L). unfold U. rewrite (L (R w W) i Li). reflexivity. Qed.
