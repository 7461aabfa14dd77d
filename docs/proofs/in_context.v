(* Attention without softmax that takes steps of gradient descent on the examples of a prompt. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics softmax.

(* n examples x j with answers y j, and the loss of the coefficients w *)
Definition least_squares (n d : nat) (x : matrix) (y w : vector) : R :=
  1 / 2 * sum n (fun j => (dot d (x j) w - y j) * (dot d (x j) w - y j)).
Definition slope (n d : nat) (x : matrix) (y w : vector) : vector :=
  fun c => sum n (fun j => (dot d (x j) w - y j) * x j c).
Definition with_coefficient (w : vector) (c : nat) (t : R) : vector := fun a => if Nat.eqb c a then t else w a.
Fixpoint descent (n d : nat) (eta : R) (x : matrix) (y : vector) (steps : nat) : vector :=
  match steps with
  | O => fun _ => 0
  | S m => let w := descent n d eta x y m in fun c => w c - eta * slope n d x y w c
  end.

Lemma dot_with d x w c t : (c < d)%nat -> dot d x (with_coefficient w c t) = dot d x w + x c * (t - w c).
Proof. intro C. unfold dot. rewrite (sum_others d c (fun a => x a * w a) C), (sum_others d c _ C).
  unfold with_coefficient at 1. rewrite Nat.eqb_refl.
  replace (others d c (fun a => x a * with_coefficient w c t a)) with (others d c (fun a => x a * w a)); [ring|].
  apply sum_ext. intros a _. unfold with_coefficient. destruct (Nat.eqb c a); reflexivity. Qed.
(* slope is the gradient: its number c is the partial derivative in coefficient c. *)
Lemma slope_is_gradient n d x y w c : (c < d)%nat ->
  is_derive (fun t : R => least_squares n d x y (with_coefficient w c t)) (w c) (slope n d x y w c).
Proof. intro C. unfold least_squares, slope.
  replace (sum n (fun j => (dot d (x j) w - y j) * x j c))
    with (1 / 2 * sum n (fun j => 2 * ((dot d (x j) w - y j) * x j c))) by (rewrite sum_scal; field).
  apply is_derive_scal. apply (is_derive_sum n (fun j t => (dot d (x j) (with_coefficient w c t) - y j) * (dot d (x j) (with_coefficient w c t) - y j))).
  intros j _. apply (is_derive_ext (fun t => (dot d (x j) w + x j c * (t - w c) - y j) * (dot d (x j) w + x j c * (t - w c) - y j))).
  - intro t. rewrite dot_with by exact C. reflexivity.
  - auto_derive; [exact I|]. ring. Qed.

(* Tokens of d + 1 numbers: the input, and then the answer *)
Definition token (d : nat) (x : vector) (y : R) : vector := fun c => if Nat.eqb c d then y else x c.
Definition keeps_input (d : nat) : matrix := fun a b => if andb (Nat.eqb a b) (Nat.ltb a d) then 1 else 0.
Definition keeps_answer (d : nat) (factor : R) : matrix := fun a _ => if Nat.eqb a d then factor else 0.
Definition times (d : nat) (t : vector) (W : matrix) : vector := fun b => sum (S d) (fun a => t a * W a b).
(* What token t gets from n keys, without softmax, mask and divisor *)
Definition linear_layer (n d : nat) (WQ WK WV : matrix) (keys : matrix) (t : vector) : R :=
  sum n (fun j => dot d (times d t WQ) (times d (keys j) WK) * times d (keys j) WV 0%nat).

Lemma input_of d t b : (b < d)%nat -> times d t (keeps_input d) b = t b.
Proof. intro B. unfold times, keeps_input. rewrite (sum_ext (S d) _ (fun a => if Nat.eqb b a then t a else 0)).
  - apply (sum_one (S d) b t). lia.
  - intros a _. rewrite (Nat.eqb_sym a b). destruct (Nat.eqb b a) eqn:Q; simpl; [|ring].
    apply Nat.eqb_eq in Q. subst a. replace (Nat.ltb b d) with true by (symmetry; apply Nat.ltb_lt, B). ring. Qed.
Lemma answer_of d t factor b : times d t (keeps_answer d factor) b = factor * t d.
Proof. unfold times, keeps_answer. rewrite (sum_ext (S d) _ (fun a => if Nat.eqb d a then factor * t a else 0)).
  - apply (sum_one (S d) d (fun a => factor * t a)). lia.
  - intros a _. rewrite (Nat.eqb_sym a d). destruct (Nat.eqb d a); ring. Qed.
Lemma layer_of_tokens n d factor keys t : linear_layer n d (keeps_input d) (keeps_input d) (keeps_answer d factor) keys t
  = sum n (fun j => dot d t (keys j) * (factor * keys j d)).
Proof. apply sum_ext. intros j _. rewrite answer_of. f_equal. apply sum_ext. intros b B. rewrite !input_of by exact B. reflexivity. Qed.
Lemma input_of_token d x y b : (b < d)%nat -> token d x y b = x b.
Proof. intro B. unfold token. replace (Nat.eqb b d) with false; [reflexivity|]. symmetry. apply Nat.eqb_neq. lia. Qed.
Lemma answer_of_token d x y : token d x y d = y.
Proof. unfold token. rewrite Nat.eqb_refl. reflexivity. Qed.
Lemma dot_of_tokens d x y x' y' : dot d (token d x y) (token d x' y') = dot d x x'.
Proof. apply sum_ext. intros b B. rewrite !input_of_token by exact B. reflexivity. Qed.
Lemma dot_of_sum n d x (f : matrix) (c : vector) : dot d x (fun b => sum n (fun j => c j * f j b)) = sum n (fun j => dot d x (f j) * c j).
Proof. unfold dot. rewrite (sum_ext d _ (fun b => sum n (fun j => x b * f j b * c j))).
  - rewrite sum_swap. apply sum_ext. intros j _. rewrite sum_scal_r. reflexivity.
  - intros b _. rewrite <- sum_scal. apply sum_ext. intros. ring. Qed.
Lemma dot_minus_scaled d x w g eta : dot d x (fun c => w c - eta * g c) = dot d x w - eta * dot d x g.
Proof. unfold dot. rewrite <- sum_scal, <- sum_minus. apply sum_ext. intros. ring. Qed.
Lemma dot_zero d x : dot d x (fun _ => 0) = 0.
Proof. apply sum_zero. intros. ring. Qed.

(* The gradient, part by part, and the layer *)
Theorem step : forall (n d : nat) (eta : R) (x : matrix) (y u : vector),
  let w c := eta * sum n (fun j => y j * x j c) in
  linear_layer n d (keeps_input d) (keeps_input d) (keeps_answer d eta) (fun j => token d (x j) (y j)) (token d u 0) = dot d u w
  /\ (forall c, (c < d)%nat -> exists g : R,
      is_derive (fun t : R => least_squares n d x y (with_coefficient (fun _ => 0) c t)) 0 g /\ w c = 0 - eta * g).
Proof. intros n d eta x y u w. split.
  - rewrite layer_of_tokens. unfold w. transitivity (dot d u (fun c => sum n (fun j => eta * y j * x j c))).
    + rewrite dot_of_sum. apply sum_ext. intros j _. rewrite dot_of_tokens, answer_of_token. reflexivity.
    + apply sum_ext. intros c _. f_equal. rewrite <- sum_scal. apply sum_ext. intros. ring.
  - intros c C. exists (slope n d x y (fun _ => 0) c). split; [apply (slope_is_gradient n d x y (fun _ => 0) c C)|].
    unfold w, slope. rewrite <- !sum_scal, <- (Rplus_0_l (sum n _)). unfold Rminus. f_equal.
    rewrite <- (Rmult_1_l (sum n (fun i => eta * ((dot d (x i) (fun _ => 0) + - y i) * x i c)))), Ropp_mult_distr_l, <- sum_scal.
    apply sum_ext. intros j _. rewrite dot_zero. ring. Qed.

(* The keys are the examples; every token, the question among them, gets the layer's output in its
   last number. After some layers: what the tokens of the examples are, and that of the question. *)
Definition answered (n d : nat) (eta : R) (keys : matrix) (t : vector) : vector := fun c =>
  if Nat.eqb c d then t d + linear_layer n d (keeps_input d) (keeps_input d) (keeps_answer d (- eta)) keys t else t c.
Fixpoint after_layers (n d : nat) (eta : R) (keys : matrix) (t : vector) (layers : nat) : matrix * vector :=
  match layers with
  | O => (keys, t)
  | S m => let (k, q) := after_layers n d eta keys t m in (fun j => answered n d eta k (k j), answered n d eta k q)
  end.
Theorem layers : forall (n d : nat) (eta : R) (x : matrix) (y u : vector) (m : nat),
  let w := descent n d eta x y in
  snd (after_layers n d eta (fun j => token d (x j) (y j)) (token d u 0) m) d = - dot d u (w m)
  /\ (forall k c, (c < d)%nat -> exists g : R, is_derive (fun t : R => least_squares n d x y (with_coefficient (w k) c t)) (w k c) g
      /\ w (S k) c = w k c - eta * g).
Proof. intros n d eta x y u m w. split.
  2:{ intros k c C. exists (slope n d x y (w k) c). split; [apply slope_is_gradient, C|reflexivity]. }
  assert (A : forall keys z v, answered n d eta (fun j => token d (x j) (z j)) (token d v keys)
    = token d v (keys - eta * sum n (fun j => dot d v (x j) * z j))).
  { intros b z v. apply functional_extensionality. intro c. unfold answered. rewrite layer_of_tokens.
    destruct (Nat.eqb c d) eqn:Q.
    - apply Nat.eqb_eq in Q. subst c. rewrite !answer_of_token. unfold Rminus. f_equal. rewrite Ropp_mult_distr_l, <- sum_scal.
      apply sum_ext. intros j _. rewrite dot_of_tokens, answer_of_token. ring.
    - unfold token. rewrite Q. reflexivity. }
  assert (D : forall k v, dot d v (w (S k)) = dot d v (w k) - eta * sum n (fun j => dot d v (x j) * (dot d (x j) (w k) - y j))).
  { intros k v. unfold w. simpl descent. rewrite dot_minus_scaled. f_equal. f_equal. unfold slope. apply dot_of_sum. }
  assert (H : after_layers n d eta (fun j => token d (x j) (y j)) (token d u 0) m
    = (fun j => token d (x j) (y j - dot d (x j) (w m)), token d u (- dot d u (w m)))).
  { induction m as [|m IH].
    - simpl. unfold w. simpl descent. f_equal; [|rewrite dot_zero, Ropp_0; reflexivity].
      apply functional_extensionality. intro j. rewrite dot_zero, Rminus_0_r. reflexivity.
    - cbn [after_layers]. rewrite IH. f_equal; [apply functional_extensionality; intro j|]; rewrite A, D; f_equal;
        rewrite (sum_ext n (fun j => _ * (y j - _)) (fun l => -1 * (dot d _ (x l) * (dot d (x l) (w m) - y l)))) by (intros; ring);
        rewrite sum_scal; ring. }
  rewrite H. apply answer_of_token. Qed.

(* The expected error of one step with rate eta and m examples, as the page gives it; s is the variance
   of the noise, m a real number. *)
Definition step_error (d s eta m : R) : R := d * (1 - 2 * eta * m + eta * eta * m * (m + d + 1 + s)).
Theorem more : forall d s n m : R, 0 < d -> 0 <= s -> 0 < n -> 0 < m ->
  let error := step_error d s (1 / (n + d + 1 + s)) in
  error (n + (d + 1 + s) / 2) <= error m
  /\ (error m = error (n + (d + 1 + s) / 2) -> m = n + (d + 1 + s) / 2)
  /\ error (2 * n + d + 1 + s) = step_error d s 0 m
  /\ (2 * n + d + 1 + s < m -> step_error d s 0 m < error m).
Proof. intros d s n m D S N M error. set (b := d + 1 + s) in *. set (e := 1 / (n + d + 1 + s)) in *.
  assert (B : 0 < n + b) by (unfold b; lra). assert (Ee : e * (n + b) = 1) by (unfold e, b; field; lra).
  assert (P : 0 < e) by (unfold e; apply Rdiv_lt_0_compat; unfold b in B; lra).
  assert (F : forall k, error k = error (n + b / 2) + d * (e * e) * ((k - (n + b / 2)) * (k - (n + b / 2)))).
  { intro k. unfold error, step_error. fold e. replace (k + d + 1 + s) with (k + b) by (unfold b; ring).
    replace (n + b / 2 + d + 1 + s) with (n + b / 2 + b) by (unfold b; ring).
    replace (2 * e * k) with (2 * e * k * (e * (n + b))) by (rewrite Ee; ring).
    replace (2 * e * (n + b / 2)) with (2 * e * (n + b / 2) * (e * (n + b))) by (rewrite Ee; ring). field. }
  assert (Q : 0 < d * (e * e)) by (apply Rmult_lt_0_compat; [exact D|nra]).
  assert (G : forall k, error k = d + d * e * e * k * (k - (2 * n + b))).
  { intro k. unfold error, step_error. fold e. replace (k + d + 1 + s) with (k + b) by (unfold b; ring).
    replace (2 * e * k) with (2 * e * k * (e * (n + b))) by (rewrite Ee; ring). ring. }
  split; [|split; [|split]].
  - rewrite (F m). pose proof (Rle_0_sqr (m - (n + b / 2))). unfold Rsqr in *. nra.
  - intro H. rewrite (F m) in H. destruct (Req_dec (m - (n + b / 2)) 0) as [Z|Z]; [lra|].
    assert (0 < (m - (n + b / 2)) * (m - (n + b / 2))) by (apply (Rsqr_pos_lt _ Z)). nra.
  - rewrite G. unfold step_error, b. ring.
  - intro L. rewrite (G m). unfold step_error. assert (0 < m - (2 * n + b)) by (unfold b; lra).
    assert (0 < d * e * e * m) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]|]; assumption).
    assert (0 < d * e * e * m * (m - (2 * n + b))) by (apply Rmult_lt_0_compat; assumption). lra. Qed.
