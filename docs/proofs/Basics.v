(* What the proofs of all chapters share: finite sums, vectors and matrices as functions, the
   weights of attention, and probability on finitely many outcomes. A vector of n numbers is a
   function of an index, of which the entries below n count. *)
From Coq Require Export Reals Lra Lia Arith ZArith List.
From Coq Require Export FunctionalExtensionality.
Export ListNotations.
Open Scope R_scope.

(* --- sums *)
Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S n => sum n f + f n end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; intro H; simpl; [reflexivity|]. rewrite IHn, H by (auto with arith); reflexivity. Qed.
Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [ring|]. rewrite IHn. ring. Qed.
Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n; simpl; [ring|]. rewrite IHn. ring. Qed.
Lemma sum_scal n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n; simpl; [ring|]. rewrite IHn. ring. Qed.
Lemma sum_scal_r n c f : sum n (fun i => f i * c) = sum n f * c.
Proof. induction n; simpl; [ring|]. rewrite IHn. ring. Qed.
Lemma sum_div n c f : sum n (fun i => f i / c) = sum n f / c.
Proof. unfold Rdiv. apply sum_scal_r. Qed.
Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; ring|]. change (sum n (fun _ => c) + c = INR (S n) * c).
  rewrite IHn, S_INR. ring. Qed.
Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. intro H. rewrite (sum_ext n f (fun _ => 0)) by exact H. rewrite sum_const. ring. Qed.
Lemma sum_swap n m f : sum n (fun i => sum m (f i)) = sum m (fun j => sum n (fun i => f i j)).
Proof. induction n; simpl.
  - symmetry. apply sum_zero. reflexivity.
  - rewrite IHn, <- sum_plus. reflexivity. Qed.
Lemma sum_product n m f g : sum n f * sum m g = sum n (fun i => sum m (fun j => f i * g j)).
Proof. rewrite <- sum_scal_r. apply sum_ext. intros. rewrite sum_scal. reflexivity. Qed.
Lemma sum_one n i f : (i < n)%nat -> sum n (fun j => if Nat.eqb i j then f j else 0) = f i.
Proof. induction n; intro H; [lia|]. simpl. destruct (Nat.eq_dec i n) as [->|N].
  - rewrite Nat.eqb_refl, sum_zero; [ring|].
    intros j J. destruct (Nat.eqb n j) eqn:E; [apply Nat.eqb_eq in E; lia|reflexivity].
  - rewrite IHn by lia. destruct (Nat.eqb i n) eqn:E; [apply Nat.eqb_eq in E; lia|ring]. Qed.
Lemma sum_app n m f : sum (n + m) f = sum n f + sum m (fun i => f (n + i)%nat).
Proof. induction m; [rewrite Nat.add_0_r; simpl; ring|].
  rewrite Nat.add_succ_r. simpl. rewrite IHm. ring. Qed.
Lemma sum_blocks h d f : sum (h * d) f = sum h (fun r => sum d (fun b => f (r * d + b)%nat)).
Proof. induction h; simpl; [reflexivity|]. rewrite Nat.add_comm, sum_app, IHh. reflexivity. Qed.
Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof. induction n; intro H; simpl; [lra|].
  assert (f n <= g n) by (apply H; lia). assert (sum n f <= sum n g) by (apply IHn; auto with arith). lra. Qed.
Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intro H. rewrite <- (sum_zero n (fun _ => 0)) by reflexivity. apply sum_le, H. Qed.
Lemma sum_pos n f : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sum n f.
Proof. intros N H. destruct n; [lia|]. simpl. assert (0 < f n) by (apply H; lia).
  assert (0 <= sum n f) by (apply sum_nonneg; intros; left; apply H; lia). lra. Qed.
Lemma sum_abs n f : Rabs (sum n f) <= sum n (fun i => Rabs (f i)).
Proof. induction n; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (sum n f) (f n)). lra. Qed.
Lemma sum_term n f i : (i < n)%nat -> (forall j, (j < n)%nat -> 0 <= f j) -> f i <= sum n f.
Proof. intros I H. rewrite <- (sum_one n i f I). apply sum_le. intros j J.
  destruct (Nat.eqb i j); [lra|apply H, J]. Qed.

Lemma largest_exists n (s : nat -> R) : (0 < n)%nat -> exists m, (m < n)%nat /\ forall j, (j < n)%nat -> s j <= s m.
Proof. induction n as [|n IH]; intro N; [lia|]. destruct n as [|n].
  - exists O. split; [lia|]. intros j J. replace j with O by lia. lra.
  - destruct IH as (m & M & H); [lia|]. destruct (Rle_dec (s m) (s (S n))) as [L|L].
    + exists (S n). split; [lia|]. intros j J. destruct (Nat.eq_dec j (S n)) as [->|]; [lra|].
      specialize (H j ltac:(lia)). lra.
    + exists m. split; [lia|]. intros j J. destruct (Nat.eq_dec j (S n)) as [->|]; [lra|]. apply H. lia. Qed.

(* All but one of the terms *)
Definition others n i f := sum n (fun j => if Nat.eqb i j then 0 else f j).
Lemma sum_others n i f : (i < n)%nat -> sum n f = f i + others n i f.
Proof. intro I. unfold others. rewrite <- (sum_one n i f I), <- sum_plus. apply sum_ext.
  intros j _. destruct (Nat.eqb i j); ring. Qed.
Lemma others_const n i c : (i < n)%nat -> others n i (fun _ => c) = (INR n - 1) * c.
Proof. intro I. pose proof (sum_others n i (fun _ => c) I) as H. rewrite sum_const in H. lra. Qed.

(* --- permutations of the first n numbers, with their inverse *)
Definition permutation (n : nat) (p p' : nat -> nat) : Prop :=
  forall i, (i < n)%nat -> (p i < n)%nat /\ (p' i < n)%nat /\ p' (p i) = i /\ p (p' i) = i.

Lemma sum_permuted n p p' f : permutation n p p' -> sum n (fun i => f (p i)) = sum n f.
Proof. intro P.
  rewrite (sum_ext n (fun i => f (p i)) (fun i => sum n (fun j => if Nat.eqb (p i) j then f j else 0))).
  2:{ intros i I. rewrite sum_one; [reflexivity|apply P, I]. }
  rewrite sum_swap. apply sum_ext. intros j J.
  rewrite (sum_ext n _ (fun i => if Nat.eqb (p' j) i then f j else 0)).
  - rewrite (sum_one n (p' j) (fun _ => f j)); [reflexivity|apply P, J].
  - intros i I. destruct (Nat.eqb (p i) j) eqn:E; destruct (Nat.eqb (p' j) i) eqn:F; try reflexivity.
    + apply Nat.eqb_eq in E. apply Nat.eqb_neq in F. subst j.
      exfalso. apply F. apply (P i I).
    + apply Nat.eqb_neq in E. apply Nat.eqb_eq in F. subst i.
      exfalso. apply E. apply (P j J). Qed.

(* --- vectors and matrices *)
Definition vector := nat -> R.
Definition matrix := nat -> nat -> R.
Definition dot (d : nat) (q k : vector) : R := sum d (fun c => q c * k c).
Definition product (d : nat) (A B : matrix) : matrix := fun i j => sum d (fun c => A i c * B c j).
Definition transposed (A : matrix) : matrix := fun i j => A j i.

Lemma product_assoc n m A B C i j :
  product m (product n A B) C i j = product n A (product m B C) i j.
Proof. unfold product. rewrite (sum_ext m _ (fun c => sum n (fun b => A i b * B b c * C c j))).
  - rewrite sum_swap. apply sum_ext. intros b _. rewrite <- sum_scal. apply sum_ext. intros. ring.
  - intros c _. rewrite <- sum_scal_r. reflexivity. Qed.

Definition rows (l : list (list R)) : matrix := fun i c => nth c (nth i l []) 0.

(* The norm of a vector, and the inequality of Cauchy and Schwarz *)
Definition norm (d : nat) (x : vector) : R := sqrt (dot d x x).
Lemma dot_nonneg d x : 0 <= dot d x x.
Proof. apply sum_nonneg. intros. apply Rle_0_sqr. Qed.
Lemma norm_squared d x : norm d x * norm d x = dot d x x.
Proof. apply sqrt_sqrt, dot_nonneg. Qed.
Lemma cauchy_schwarz_squared d x y : dot d x y * dot d x y <= dot d x x * dot d y y.
Proof. (* the sum of all (x i y j - x j y i)^2 *)
  assert (H : 0 <= sum d (fun i => sum d (fun j => (x i * y j - x j * y i) * (x i * y j - x j * y i)))).
  { apply sum_nonneg. intros i _. apply sum_nonneg. intros j _. apply Rle_0_sqr. }
  rewrite (sum_ext d _ (fun i => sum d (fun j => (x i * x i) * (y j * y j))
    + sum d (fun j => (y i * y i) * (x j * x j)) - 2 * sum d (fun j => (x i * y i) * (x j * y j)))) in H.
  - rewrite sum_minus, sum_plus, sum_scal, <- !sum_product in H. unfold dot.
    rewrite (Rmult_comm (sum d (fun i => y i * y i))) in H. lra.
  - intros i _. rewrite <- sum_scal, <- sum_plus, <- sum_minus. apply sum_ext. intros. ring. Qed.
Lemma cauchy_schwarz d x y : Rabs (dot d x y) <= norm d x * norm d y.
Proof. unfold norm. rewrite <- sqrt_mult by apply dot_nonneg. rewrite <- sqrt_Rsqr_abs.
  apply sqrt_le_1_alt. apply cauchy_schwarz_squared. Qed.

(* The numbers in matrices (or vectors, of one row), by their shapes *)
Definition parameters (shapes : list (nat * nat)) : nat :=
  fold_right (fun s total => (fst s * snd s + total)%nat) 0%nat shapes.

(* --- the weights of attention: softmax of the scores s of n keys, the average of their values *)
Definition softmax (n : nat) (s : vector) : vector := fun i => exp (s i) / sum n (fun j => exp (s j)).
Definition average (n : nat) (a : vector) (V : matrix) : vector := fun c => sum n (fun j => a j * V j c).

Lemma exp_sum_pos n s : (0 < n)%nat -> 0 < sum n (fun j => exp (s j)).
Proof. intro N. apply sum_pos; [exact N|]. intros. apply exp_pos. Qed.
Lemma softmax_pos n s i : (0 < n)%nat -> 0 < softmax n s i.
Proof. intro N. apply Rdiv_lt_0_compat; [apply exp_pos|apply exp_sum_pos, N]. Qed.
Lemma softmax_sum n s : (0 < n)%nat -> sum n (softmax n s) = 1.
Proof. intro N. unfold softmax. rewrite sum_div. pose proof (exp_sum_pos n s N). field. lra. Qed.
Lemma softmax_ext n s t i : (i < n)%nat -> (forall j, (j < n)%nat -> s j = t j) -> softmax n s i = softmax n t i.
Proof. intros I H. unfold softmax. rewrite (H i I). f_equal. apply sum_ext. intros j J. rewrite (H j J). reflexivity. Qed.
Lemma softmax_shift n s c i : (0 < n)%nat -> softmax n (fun j => s j + c) i = softmax n s i.
Proof. intro N. unfold softmax. rewrite exp_plus.
  rewrite (sum_ext n _ (fun j => exp (s j) * exp c)) by (intros; apply exp_plus).
  rewrite sum_scal_r. pose proof (exp_sum_pos n s N). pose proof (exp_pos c). field. lra. Qed.

(* Scaled dot-product attention, as the page of the function writes it: row i, component c *)
Definition scores (d : nat) (Q K : matrix) : matrix := fun i j => dot d (Q i) (K j) / sqrt (INR d).
Definition attention (n d : nat) (Q K V : matrix) : matrix :=
  fun i => average n (softmax n (scores d Q K i)) V.

(* --- masks: which keys a row may see; a forbidden score is minus infinity, its exponential 0 *)
Definition masked_exp (visible : bool) (s : R) : R := if visible then exp s else 0.
Definition masked_softmax (n : nat) (seen : nat -> bool) (s : vector) : vector :=
  fun i => masked_exp (seen i) (s i) / sum n (fun j => masked_exp (seen j) (s j)).
Definition causal (i j : nat) : bool := Nat.leb j i.
Definition masked_attention (n d : nat) (mask : nat -> nat -> bool) (Q K V : matrix) : matrix :=
  fun i => average n (masked_softmax n (mask i) (scores d Q K i)) V.

(* --- probability on finitely many outcomes *)
Record space := { outcomes : nat; chance : nat -> R;
  chance_nonneg : forall w, 0 <= chance w; total : sum outcomes chance = 1 }.
Definition E (P : space) (X : nat -> R) : R := sum (outcomes P) (fun w => chance P w * X w).
Definition Var (P : space) (X : nat -> R) : R := E P (fun w => (X w - E P X) * (X w - E P X)).
(* Two things that depend on the outcome are independent: the expectation of a product of any
   function of the one and any function of the other is the product of the expectations. *)
Definition independent {A B : Type} (P : space) (X : nat -> A) (Y : nat -> B) : Prop :=
  forall (f : A -> R) (g : B -> R),
    E P (fun w => f (X w) * g (Y w)) = E P (fun w => f (X w)) * E P (fun w => g (Y w)).

Lemma E_ext P X Y : (forall w, X w = Y w) -> E P X = E P Y.
Proof. intro H. apply sum_ext. intros. rewrite H. reflexivity. Qed.
Lemma E_sum P n X : E P (fun w => sum n (fun i => X i w)) = sum n (fun i => E P (X i)).
Proof. unfold E. rewrite <- sum_swap. apply sum_ext. intros. rewrite sum_scal. reflexivity. Qed.
Lemma E_plus P X Y : E P (fun w => X w + Y w) = E P X + E P Y.
Proof. unfold E. rewrite <- sum_plus. apply sum_ext. intros. ring. Qed.
Lemma E_minus P X Y : E P (fun w => X w - Y w) = E P X - E P Y.
Proof. unfold E. rewrite <- sum_minus. apply sum_ext. intros. ring. Qed.
Lemma E_scal P c X : E P (fun w => c * X w) = c * E P X.
Proof. unfold E. rewrite <- sum_scal. apply sum_ext. intros. ring. Qed.
Lemma E_const P c : E P (fun _ => c) = c.
Proof. unfold E. rewrite sum_scal_r, total. ring. Qed.
Lemma Var_moments P X : Var P X = E P (fun w => X w * X w) - E P X * E P X.
Proof. unfold Var. set (m := E P X).
  rewrite (E_ext P _ (fun w => X w * X w - (2 * m) * X w + m * m)) by (intro; ring).
  rewrite E_plus, E_minus, E_scal, E_const. fold m. ring. Qed.
