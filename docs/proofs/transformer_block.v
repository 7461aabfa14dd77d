(* A block: its size, and the function that lies between its maps. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics.

Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.   (* of a by b times b by c *)
(* h heads of dimension d / h; a network of width 4 d; two LayerNorms with factor and shift *)
Theorem cost : forall d h dk n : nat, (h * dk = d)%nat -> (0 < d)%nat ->
  let projections := [(d, (h * dk)%nat); (d, (h * dk)%nat); (d, (h * dk)%nat); ((h * dk)%nat, d)] in
  let their_biases := [(1, (h * dk)); (1, (h * dk)); (1, (h * dk)); (1, d)]%nat in
  let network := [(d, 4 * d); (1, 4 * d); (4 * d, d); (1, d)]%nat in
  let norms := [(1, d); (1, d); (1, d); (1, d)]%nat in
  let products := (4 * product_operations n d d
    + h * (product_operations n dk n + product_operations n n dk)
    + product_operations n d (4 * d) + product_operations n (4 * d) d)%nat in
  parameters (projections ++ their_biases ++ network ++ norms) = (12 * (d * d) + 13 * d)%nat
  /\ products = (24 * n * (d * d) + 4 * (n * n) * d)%nat
  /\ (2 * (4 * (n * n) * d) = products <-> n = 6 * d \/ n = 0)%nat.
Proof. intros d h dk n H D projections biases network norms products.
  assert (Pr : products = (24 * n * (d * d) + 4 * (n * n) * d)%nat).
  { unfold products, product_operations. rewrite <- H. nia. }
  split; [|split; [exact Pr|]].
  - unfold projections, biases, network, norms, parameters. rewrite H. simpl. nia.
  - rewrite Pr. split.
    + intro E. destruct (Nat.eq_dec n 0) as [Z|Z]; [right; exact Z|left]. nia.
    + intros [-> | ->]; nia. Qed.

(* A chain of linear maps with biases is one such map: row times matrix plus bias, of two numbers *)
Inductive affine : (R -> R -> R) -> Prop :=
  | first : affine (fun x _ => x)
  | second : affine (fun _ y => y)
  | combined : forall (a b c : R) (f g : R -> R -> R), affine f -> affine g -> affine (fun x y => a * f x y + b * g x y + c).
Lemma affine_form f : affine f -> exists a b c, forall x y, f x y = a * x + b * y + c.
Proof. induction 1 as [| |a b c f g _ (fa & fb & fc & F) _ (ga & gb & gc & G)].
  - exists 1, 0, 0. intros. ring.
  - exists 0, 1, 0. intros. ring.
  - exists (a * fa + b * ga), (a * fb + b * gb), (a * fc + b * gc + c). intros. rewrite F, G. ring. Qed.
Theorem bend : (forall f, affine f -> ~ (forall x y, f x y = Rabs (x - y)))
  /\ (forall x y, Rabs (x - y) = 1 * Rmax 0 (1 * x + -1 * y) + 1 * Rmax 0 (-1 * x + 1 * y)).
Proof. split.
  - intros f A H. destruct (affine_form f A) as (a & b & c & F).
    pose proof (H 0 0) as H0. pose proof (H 1 0) as H1. pose proof (H 0 1) as H2. pose proof (H 1 1) as H3.
    rewrite F in *. rewrite Rminus_diag_eq, Rabs_R0 in H0, H3 by reflexivity.
    replace (1 - 0) with 1 in H1 by ring. rewrite Rabs_R1 in H1.
    replace (0 - 1) with (- (1)) in H2 by ring. rewrite Rabs_Ropp, Rabs_R1 in H2. lra.
  - intros x y. unfold Rmax. destruct (Rle_dec 0 (1 * x + -1 * y)); destruct (Rle_dec 0 (-1 * x + 1 * y)).
    + assert (x - y = 0) as -> by lra. rewrite Rabs_R0. lra.
    + rewrite Rabs_pos_eq; lra.
    + rewrite Rabs_left1; lra.
    + lra. Qed.

(* A residual connection: the gradient g with respect to what leaves becomes g + g J before it. *)
Definition row_times (d : nat) (g : vector) (J : matrix) : vector := fun c => sum d (fun b => g b * J b c).
Lemma row_times_dot d g J : dot d g (row_times d g J) = sum d (fun c => sum d (fun b => g c * g b * J b c)).
Proof. unfold dot, row_times. apply sum_ext. intros c _. rewrite <- sum_scal. apply sum_ext. intros. ring. Qed.
Lemma sum_of_rows_squared d x y : dot d (fun c => x c + y c) (fun c => x c + y c) = dot d x x + 2 * dot d x y + dot d y y.
Proof. unfold dot. rewrite <- sum_scal, <- !sum_plus. apply sum_ext. intros. ring. Qed.

Lemma residual_expected P d (g : nat -> vector) (J : nat -> matrix) :
  (forall b c, (b < d)%nat -> (c < d)%nat -> E P (fun w => J w b c) = 0) -> independent P g J ->
  E P (fun w => norm d (fun c => g w c + row_times d (g w) (J w) c) * norm d (fun c => g w c + row_times d (g w) (J w) c))
  = E P (fun w => norm d (g w) * norm d (g w))
    + E P (fun w => norm d (row_times d (g w) (J w)) * norm d (row_times d (g w) (J w))).
Proof. intros M A.
  rewrite (E_ext P _ (fun w => dot d (g w) (g w) + 2 * sum d (fun c => sum d (fun b => g w c * g w b * J w b c))
    + dot d (row_times d (g w) (J w)) (row_times d (g w) (J w)))).
  2:{ intro w. rewrite norm_squared, sum_of_rows_squared, row_times_dot. reflexivity. }
  rewrite !E_plus, E_scal, E_sum.
  rewrite (sum_zero d (fun c => E P _)).
  + rewrite (E_ext P (fun w => norm d (g w) * norm d (g w)) (fun w => dot d (g w) (g w))) by (intro; apply norm_squared).
    rewrite (E_ext P (fun w => norm d (row_times d (g w) (J w)) * _) (fun w => dot d (row_times d (g w) (J w)) (row_times d (g w) (J w)))) by (intro; apply norm_squared).
    ring.
  + intros c C. rewrite E_sum. apply sum_zero. intros b B.
    rewrite (A (fun g => g c * g b) (fun J => J b c)), M by assumption. ring. Qed.

(* The gradient is a given row x, or random and independent of J; then a bound that always holds, and
   that it cannot be better *)
Theorem residual : forall (P : space) (d : nat) (J : nat -> matrix),
  (forall b c, (b < d)%nat -> (c < d)%nat -> E P (fun w => J w b c) = 0) ->
  (forall x : vector,
    E P (fun w => norm d (fun c => x c + row_times d x (J w) c) * norm d (fun c => x c + row_times d x (J w) c))
    = norm d x * norm d x + E P (fun w => norm d (row_times d x (J w)) * norm d (row_times d x (J w))))
  /\ (forall g : nat -> vector, independent P g J ->
    E P (fun w => norm d (fun c => g w c + row_times d (g w) (J w) c) * norm d (fun c => g w c + row_times d (g w) (J w) c))
    = E P (fun w => norm d (g w) * norm d (g w))
      + E P (fun w => norm d (row_times d (g w) (J w)) * norm d (row_times d (g w) (J w))))
  /\ (forall (x : vector) (M : matrix) (f : R), (forall y, norm d (row_times d y M) <= f * norm d y) ->
      norm d (fun c => x c + row_times d x M c) >= (1 - f) * norm d x)
  /\ (forall f, 0 <= f <= 1 -> exists M, (forall y, norm d (row_times d y M) <= f * norm d y)
      /\ forall x, norm d (fun c => x c + row_times d x M c) = (1 - f) * norm d x).
Proof. intros P d J M. split; [|split; [|split]].
  - intro x. rewrite (residual_expected P d (fun _ => x) J M), E_const; [reflexivity|].
    intros f g. rewrite E_const. apply E_scal.
  - intros g A. apply residual_expected; assumption.
  - intros x N f H. set (y := row_times d x N). pose proof (H x) as Hx. fold y in Hx.
    assert (Px : 0 <= norm d x) by apply sqrt_pos. assert (Py : 0 <= norm d y) by apply sqrt_pos.
    apply Rle_ge. destruct (Rle_dec (norm d x) (norm d y)) as [L|L].
    + apply Rle_trans with 0; [nra|apply sqrt_pos].
    + apply Rle_trans with (norm d x - norm d y); [nra|].
      unfold norm at 3. rewrite <- (sqrt_square (norm d x - norm d y)) by lra. apply sqrt_le_1_alt.
      rewrite sum_of_rows_squared, <- !norm_squared. pose proof (cauchy_schwarz d x y) as S.
      apply Rabs_le_between in S. nra.
  - intros f F. exists (fun b c => if Nat.eqb c b then - f else 0).
    assert (Row : forall y c, (c < d)%nat -> row_times d y (fun b c => if Nat.eqb c b then - f else 0) c = - f * y c).
    { intros y c C. unfold row_times. rewrite (sum_ext d _ (fun b => if Nat.eqb c b then - f * y b else 0)).
      - apply (sum_one d c (fun b => - f * y b) C).
      - intros b _. destruct (Nat.eqb c b); ring. }
    assert (Scaled : forall k y z, 0 <= k -> (forall c, (c < d)%nat -> y c * y c = k * k * (z c * z c)) -> norm d y = k * norm d z).
    { intros k y z K H. unfold norm. rewrite <- (sqrt_square k K) at 1. rewrite <- sqrt_mult_alt by nra. f_equal.
      unfold dot. rewrite <- sum_scal. apply sum_ext, H. }
    split.
    + intro y. right. apply Scaled; [lra|]. intros c C. rewrite Row by exact C. ring.
    + intro x. apply Scaled; [lra|]. intros c C. rewrite Row by exact C. ring. Qed.

(* LayerNorm with epsilon 0, factor 1 and shift 0 *)
Definition mean (d : nat) (x : vector) : R := sum d x / INR d.
Definition deviation (d : nat) (x : vector) : R := sqrt (sum d (fun c => (x c - mean d x) * (x c - mean d x)) / INR d).
Definition layer_norm (d : nat) (x : vector) : vector := fun c => (x c - mean d x) / deviation d x.
Definition with_component (x : vector) (e : nat) (t : R) : vector := fun c => if Nat.eqb e c then t else x c.
Definition projection (d : nat) (y : vector) : matrix := fun c e =>
  (if Nat.eqb c e then 1 else 0) - 1 / INR d - y c * y e / INR d.

Lemma squares_about_mean d x : (0 < d)%nat -> sum d (fun c => (x c - mean d x) * (x c - mean d x))
  = sum d (fun c => x c * x c) - sum d x * sum d x / INR d.
Proof. intro D. apply lt_INR in D. simpl in D.
  rewrite (sum_ext d _ (fun c => x c * x c - 2 * mean d x * x c + mean d x * mean d x)) by (intros; ring).
  rewrite sum_plus, sum_minus, sum_scal, sum_const. unfold mean. field. lra. Qed.
Lemma deviation_pos d x : (exists a b, (a < d)%nat /\ (b < d)%nat /\ x a <> x b) -> 0 < deviation d x.
Proof. intros (a & b & A & B & N). apply sqrt_lt_R0, Rdiv_lt_0_compat; [|apply lt_0_INR; lia].
  assert (exists m, (m < d)%nat /\ x m <> mean d x) as (m & Hm & D).
  { destruct (Req_dec (x a) (mean d x)) as [E1|E1]; [|exists a; auto]. exists b. split; [exact B|]. congruence. }
  apply Rlt_le_trans with ((x m - mean d x) * (x m - mean d x)); [apply Rsqr_pos_lt; lra|].
  apply (sum_term d (fun c => (x c - mean d x) * (x c - mean d x)) m Hm). intros. apply Rle_0_sqr. Qed.

Theorem layer_norm_properties : forall (d : nat) (x : vector), (exists a b, (a < d)%nat /\ (b < d)%nat /\ x a <> x b) ->
  let y := layer_norm d x in
  sum d y = 0 /\ norm d y * norm d y = INR d
  /\ (forall s t c, 0 < s -> (c < d)%nat -> layer_norm d (fun e => s * x e + t) c = y c)
  /\ (forall c e, (c < d)%nat -> (e < d)%nat ->
      is_derive (fun t : R => layer_norm d (with_component x e t) c) (x e) (projection d y c e / deviation d x))
  /\ (forall b c, (b < d)%nat -> (c < d)%nat -> product d (projection d y) (projection d y) b c = projection d y b c)
  /\ (forall c, (c < d)%nat -> sum d (fun e => projection d y c e * 1) = 0 /\ sum d (fun e => projection d y c e * y e) = 0)
  /\ (forall v c, sum d v = 0 -> dot d y v = 0 -> (c < d)%nat -> sum d (fun e => projection d y c e * v e) = v c).
Proof. intros d x Hx y. pose proof (deviation_pos d x Hx) as Ps. destruct Hx as (a & b & A & _).
  assert (D : 0 < INR d) by (apply lt_0_INR; lia).
  assert (Var : deviation d x * deviation d x = sum d (fun c => (x c - mean d x) * (x c - mean d x)) / INR d).
  { apply sqrt_sqrt. apply Rle_mult_inv_pos; [|exact D]. apply sum_nonneg. intros. apply Rle_0_sqr. }
  assert (S0 : sum d y = 0).
  { unfold y, layer_norm. rewrite sum_div, sum_minus, sum_const. unfold mean. field; repeat split; lra. }
  assert (S2 : sum d (fun c => y c * y c) = INR d).
  { unfold y, layer_norm. rewrite (sum_ext d _ (fun c => (x c - mean d x) * (x c - mean d x) * / (deviation d x * deviation d x))) by (intros; field; lra).
    rewrite sum_scal_r, Var. rewrite Rinv_div. field. intro Z.
    rewrite Z in Var. unfold Rdiv in Var. rewrite Rmult_0_l in Var. nra. }
  assert (Lost : forall c, (c < d)%nat -> sum d (fun e => projection d y c e * 1) = 0 /\ sum d (fun e => projection d y c e * y e) = 0).
  { intros c C. unfold projection. split.
    - rewrite (sum_ext d _ (fun e => (if Nat.eqb c e then 1 else 0) - 1 / INR d - y c / INR d * y e)) by (intros; unfold Rdiv; ring).
      rewrite !sum_minus, (sum_one d c (fun _ => 1) C), sum_const, sum_scal, S0. field. lra.
    - rewrite (sum_ext d _ (fun e => (if Nat.eqb c e then y e else 0) - 1 / INR d * y e - y c / INR d * (y e * y e))).
      + rewrite !sum_minus, (sum_one d c y C), !sum_scal, S0, S2. field. lra.
      + intros e _. destruct (Nat.eqb c e); unfold Rdiv; ring. }
  split; [exact S0|]. split; [rewrite norm_squared; exact S2|]. split; [|split; [|split; [|split]]].
  - intros s t c Hs C.
    assert (M : mean d (fun e => s * x e + t) = s * mean d x + t).
    { unfold mean. rewrite sum_plus, sum_scal, sum_const. field. lra. }
    assert (V : deviation d (fun e => s * x e + t) = s * deviation d x).
    { unfold deviation. rewrite M. rewrite (sum_ext d _ (fun c => s * s * ((x c - mean d x) * (x c - mean d x)))) by (intros; ring).
      rewrite sum_scal. unfold Rdiv at 1. rewrite Rmult_assoc, sqrt_mult_alt by nra. rewrite sqrt_square by lra. reflexivity. }
    unfold y, layer_norm. rewrite M, V. field; repeat split; lra.
  - intros c e C He.
    set (S1 := others d e x). set (Q := others d e (fun m => x m * x m)).
    assert (F : forall t, layer_norm d (with_component x e t) c
      = (with_component x e t c - (t + S1) / INR d) / sqrt ((t * t + Q - (t + S1) * (t + S1) / INR d) / INR d)).
    { intro t. unfold layer_norm, deviation. rewrite squares_about_mean by lia. unfold mean.
      assert (X1 : sum d (with_component x e t) = t + S1).
      { rewrite (sum_others d e _ He). unfold with_component at 1. rewrite Nat.eqb_refl. f_equal.
        apply sum_ext. intros m _. unfold with_component. destruct (Nat.eqb e m); reflexivity. }
      assert (X2 : sum d (fun m => with_component x e t m * with_component x e t m) = t * t + Q).
      { rewrite (sum_others d e _ He). unfold with_component at 1 2. rewrite Nat.eqb_refl. f_equal.
        apply sum_ext. intros m _. unfold with_component. destruct (Nat.eqb e m); reflexivity. }
      rewrite X1, X2. reflexivity. }
    apply (is_derive_ext (fun t => (with_component x e t c - (t + S1) / INR d) / sqrt ((t * t + Q - (t + S1) * (t + S1) / INR d) / INR d))).
    { intro t. symmetry. apply F. }
    assert (Sx : sum d x = x e + S1) by apply (sum_others d e x He).
    assert (Qx : sum d (fun m => x m * x m) = x e * x e + Q) by apply (sum_others d e (fun m => x m * x m) He).
    assert (Dx : sqrt ((x e * x e + Q - (x e + S1) * (x e + S1) / INR d) / INR d) = deviation d x).
    { unfold deviation. rewrite squares_about_mean by lia. rewrite Sx, Qx. reflexivity. }
    assert (Pv : 0 < (x e * x e + Q - (x e + S1) * (x e + S1) / INR d) / INR d).
    { apply Rnot_le_lt. intro Z. rewrite sqrt_neg_0 in Dx by exact Z. lra. }
    assert (Mx : mean d x = (x e + S1) / INR d) by (unfold mean; rewrite Sx; reflexivity).
    unfold projection, y, layer_norm. rewrite Mx, <- Dx. unfold with_component. rewrite (Nat.eqb_sym c e).
    set (V := (x e * x e + Q - (x e + S1) * (x e + S1) / INR d) / INR d) in *.
    assert (Ds : 0 < sqrt V) by (rewrite Dx; exact Ps).
    assert (SV : sqrt V * sqrt V = V) by (apply sqrt_sqrt; lra).
    destruct (Nat.eqb e c) eqn:Ec; [apply Nat.eqb_eq in Ec; subst c|].
    + auto_derive; change ((x e * x e + Q + - ((x e + S1) * (x e + S1) * / INR d)) * / INR d) with V.
      * repeat split; lra.
      * field. lra.
    + auto_derive; change ((x e * x e + Q + - ((x e + S1) * (x e + S1) * / INR d)) * / INR d) with V.
      * repeat split; lra.
      * field. lra.
  - intros b' c B' C. unfold product.
    rewrite (sum_ext d _ (fun m => (if Nat.eqb b' m then projection d y m c else 0)
      - 1 / INR d * projection d y m c - y b' / INR d * (y m * projection d y m c))).
    2:{ intros m _. unfold projection at 1. destruct (Nat.eqb b' m); unfold Rdiv; ring. }
    rewrite !sum_minus, (sum_one d b' (fun m => projection d y m c) B'), !sum_scal.
    rewrite (sum_ext d (fun m => projection d y m c) (fun m => projection d y c m * 1)).
    2:{ intros m _. unfold projection. rewrite (Nat.eqb_sym m c). unfold Rdiv. ring. }
    rewrite (sum_ext d (fun m => y m * projection d y m c) (fun m => projection d y c m * y m)).
    2:{ intros m _. unfold projection. rewrite (Nat.eqb_sym m c). unfold Rdiv. ring. }
    destruct (Lost c C) as [-> ->]. ring.
  - exact Lost.
  - intros v c V0 V1 C. unfold projection.
    rewrite (sum_ext d _ (fun e => (if Nat.eqb c e then v e else 0) - 1 / INR d * v e - y c / INR d * (y e * v e))).
    + rewrite !sum_minus, (sum_one d c v C), !sum_scal, V0. fold (dot d y v). rewrite V1. ring.
    + intros e _. destruct (Nat.eqb c e); unfold Rdiv; ring. Qed.

(* Random matrices: an outcome brings a matrix whose entries have mean 0, variance v and are
   uncorrelated. Matrices that are drawn one after the other, each from a space of its own, are
   independent: the expectation of all is the expectation over one after the other. *)
Record drawn := { draws : space; brings : nat -> matrix }.
Definition mean_of (M : drawn) (f : matrix -> R) : R := E (draws M) (fun w => f (brings M w)).
Definition random_entries (rows_ columns : nat) (v : R) (M : drawn) : Prop :=
  (forall a c, (a < rows_)%nat -> (c < columns)%nat -> mean_of M (fun W => W a c) = 0)
  /\ (forall a b c, (a < rows_)%nat -> (b < rows_)%nat -> (c < columns)%nat ->
      mean_of M (fun W => W a c * W b c) = if Nat.eqb a b then v else 0).
Definition symmetric (M : drawn) : Prop := forall f : matrix -> R, mean_of M (fun W => f (fun a c => - W a c)) = mean_of M f.
Definition xavier (rows_ columns : nat) : R := 2 / (INR rows_ + INR columns).
Definition mean_square (d : nat) (x : vector) : R := dot d x x / INR d.

(* A block of h heads of dimension dk: rows are normalised, each head averages the normalised rows with
   weights that may depend on all of them and on random matrices, WV and WO follow; then the network. *)
Record block_draws := { scorers : drawn; values : drawn; outputs : drawn; first_layer : drawn; second_layer : drawn }.
Definition attended (n d dk : nat) (weigh : nat -> matrix -> matrix) (norm_ : vector -> vector) (A WV WO X : matrix) : matrix :=
  let Y := fun i => norm_ (X i) in
  fun i e => X i e + sum d (fun a => sum d (fun c => average n (weigh (a / dk)%nat A i) Y c * WV c a) * WO a e).
Definition fed (d : nat) (norm_ : vector -> vector) (W1 W2 X : matrix) : matrix :=
  fun i e => X i e + sum (4 * d) (fun k => Rmax 0 (sum d (fun c => norm_ (X i) c * W1 c k)) * W2 k e).
(* The expectation, over all draws of N blocks, of what is asked of the stream above them *)
Fixpoint after_blocks (N n d dk : nat) (weigh : matrix -> nat -> matrix -> matrix) (norm_ : vector -> vector) (B : block_draws) (X : matrix) (f : matrix -> R) : R :=
  match N with
  | O => f X
  | S N => mean_of (scorers B) (fun A => mean_of (values B) (fun WV => mean_of (outputs B) (fun WO =>
      mean_of (first_layer B) (fun W1 => mean_of (second_layer B) (fun W2 =>
        after_blocks N n d dk weigh norm_ B
          (fed d norm_ W1 W2 (attended n d dk (weigh (fun i => norm_ (X i))) norm_ A WV WO X)) f)))))
  end.
(* Post-norm: whatever a sublayer gives is added and normalised. *)
Definition post_norm (norm_ : vector -> vector) (sublayers : list (matrix -> matrix)) (X : matrix) : matrix :=
  fold_left (fun Y f i => norm_ (fun c => Y i c + f Y i c)) sublayers X.

Lemma mean_of_le M f g : (forall W, f W <= g W) -> mean_of M f <= mean_of M g.
Proof. intro H. apply sum_le. intros w _. apply Rmult_le_compat_l; [apply chance_nonneg|apply H]. Qed.
Lemma mean_of_const M c : mean_of M (fun _ => c) = c. Proof. exact (E_const (draws M) c). Qed.
Lemma mean_of_plus M f g : mean_of M (fun W => f W + g W) = mean_of M f + mean_of M g. Proof. exact (E_plus (draws M) (fun w => f (brings M w)) (fun w => g (brings M w))). Qed.
Lemma mean_of_scal M c f : mean_of M (fun W => c * f W) = c * mean_of M f. Proof. exact (E_scal (draws M) c (fun w => f (brings M w))). Qed.
Lemma mean_of_sum M n f : mean_of M (fun W => sum n (fun i => f i W)) = sum n (fun i => mean_of M (f i)).
Proof. exact (E_sum (draws M) n (fun i w => f i (brings M w))). Qed.
Lemma mean_of_ext M f g : (forall W, f W = g W) -> mean_of M f = mean_of M g.
Proof. intro H. apply E_ext. intro. apply H. Qed.

Lemma column_square rows_ columns v M z e : random_entries rows_ columns v M -> (e < columns)%nat ->
  mean_of M (fun W => sum rows_ (fun a => z a * W a e) * sum rows_ (fun a => z a * W a e)) = v * dot rows_ z z.
Proof. intros [_ S] Ee.
  rewrite (mean_of_ext M _ (fun W => sum rows_ (fun a => sum rows_ (fun b => (z a * z b) * (W a e * W b e))))).
  2:{ intro W. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
  rewrite mean_of_sum. unfold dot. rewrite <- sum_scal. apply sum_ext. intros a A. rewrite mean_of_sum.
  rewrite (sum_ext rows_ _ (fun b => if Nat.eqb a b then z a * z b * v else 0)).
  - rewrite (sum_one rows_ a (fun b => z a * z b * v) A). ring.
  - intros b B. rewrite mean_of_scal, (S a b e A B Ee). destruct (Nat.eqb a b); ring. Qed.
(* What ends in a random matrix adds its own square to that of the stream. *)
Lemma added_square rows_ d v M z x : (0 < d)%nat -> random_entries rows_ d v M ->
  mean_of M (fun W => mean_square d (fun e => x e + sum rows_ (fun a => z a * W a e))) = mean_square d x + v * dot rows_ z z.
Proof. intros D H. pose proof H as [Z _]. assert (Pd : 0 < INR d) by (apply lt_0_INR; exact D). unfold mean_square, dot at 1.
  rewrite (mean_of_ext M _ (fun W => / INR d * sum d (fun e => (x e * x e + sum rows_ (fun a => 2 * x e * z a * W a e))
    + sum rows_ (fun a => z a * W a e) * sum rows_ (fun a => z a * W a e)))).
  2:{ intro W. unfold Rdiv. rewrite Rmult_comm. f_equal. apply sum_ext. intros e _.
      rewrite (sum_ext rows_ (fun a => 2 * x e * z a * W a e) (fun a => 2 * x e * (z a * W a e))) by (intros; ring). rewrite sum_scal. ring. }
  rewrite mean_of_scal, mean_of_sum.
  rewrite (sum_ext d _ (fun e => x e * x e + v * dot rows_ z z)).
  - rewrite sum_plus, sum_const. unfold dot. field. lra.
  - intros e Ee. rewrite !mean_of_plus, mean_of_const, (column_square rows_ d v M z e H Ee), mean_of_sum, (sum_zero rows_); [ring|].
    intros a A. rewrite mean_of_scal, (Z a e A Ee). ring. Qed.
Lemma square_of_relu u : Rmax 0 u * Rmax 0 u + Rmax 0 (- u) * Rmax 0 (- u) = u * u.
Proof. unfold Rmax. destruct (Rle_dec 0 u); destruct (Rle_dec 0 (- u)); nra. Qed.
Lemma average_square n d a Y : (forall j, (j < n)%nat -> 0 <= a j) -> sum n a = 1 -> (forall j, dot d (Y j) (Y j) = INR d) ->
  0 <= dot d (average n a Y) (average n a Y) <= INR d.
Proof. intros A S H. split; [apply dot_nonneg|]. unfold dot, average.
  rewrite (sum_ext d _ (fun c => sum n (fun j => sum n (fun l => a j * a l * (Y j c * Y l c))))).
  2:{ intros c _. rewrite sum_product. apply sum_ext. intros. apply sum_ext. intros. ring. }
  rewrite sum_swap. rewrite <- (Rmult_1_l (INR d)), <- S, <- sum_scal_r. apply sum_le. intros j J. rewrite sum_swap.
  replace (a j * INR d) with (sum n (fun l => a j * a l * INR d)) by (rewrite sum_scal_r, sum_scal, S; ring).
  apply sum_le. intros l Ll. rewrite sum_scal.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; apply A; assumption|].
  pose proof (Rle_abs (dot d (Y j) (Y l))) as B. pose proof (cauchy_schwarz d (Y j) (Y l)) as C.
  replace (norm d (Y j) * norm d (Y l)) with (INR d) in C; [unfold dot in *; lra|]. unfold norm. rewrite !H. symmetry. apply sqrt_sqrt, pos_INR. Qed.

(* LayerNorm on rows whose components are not all equal. No other row is normalised; there it may be
   anything of mean square 1. *)
Definition varied (d : nat) (x : vector) : Prop := exists a b, (a < d)%nat /\ (b < d)%nat /\ x a <> x b.
Definition extends_layer_norm (d : nat) (norm_ : vector -> vector) : Prop :=
  (forall x, varied d x -> norm_ x = layer_norm d x) /\ (forall x, mean_square d (norm_ x) = 1).
Lemma extension_exists d : (0 < d)%nat -> exists norm_, extends_layer_norm d norm_.
Proof. intro D. assert (0 < INR d) by (apply lt_0_INR; lia).
  exists (fun x => if ClassicalDedekindReals.sig_not_dec (varied d x) then layer_norm d x else fun _ => 1).
  split; intro x; destruct (ClassicalDedekindReals.sig_not_dec (varied d x)) as [Y|Y].
  - reflexivity.
  - intro V. contradiction.
  - assert (V : varied d x) by (apply Classical_Prop.NNPP, Y). destruct (layer_norm_properties d x V) as (_ & L & _).
    unfold mean_square. rewrite <- norm_squared, L. field. lra.
  - unfold mean_square, dot. rewrite sum_const. field. lra. Qed.
Theorem stream : forall (n d h dk : nat), (0 < dk)%nat -> (0 < d)%nat -> (h * dk = d)%nat ->
  (exists norm_, extends_layer_norm d norm_)
  /\ (forall (N : nat) (weigh : matrix -> nat -> matrix -> matrix) (norm_ : vector -> vector) (B : block_draws) (X : matrix) (i : nat),
  extends_layer_norm d norm_ ->
  (forall Y r A i, (forall j, (j < n)%nat -> 0 <= weigh Y r A i j) /\ sum n (weigh Y r A i) = 1) ->
  random_entries d d (xavier d d) (values B) -> random_entries d d (xavier d d) (outputs B) ->
  random_entries d (4 * d) (xavier d (4 * d)) (first_layer B) -> symmetric (first_layer B) ->
  random_entries (4 * d) d (xavier (4 * d) d) (second_layer B) ->
  mean_square d (X i) = 1 ->
  1 + 8 / 25 * INR N <= after_blocks N n d dk weigh norm_ B X (fun Y => mean_square d (Y i)) <= 1 + 33 / 25 * INR N
  /\ (forall sublayers, mean_square d (post_norm norm_ sublayers X i) = 1)).
Proof. intros n d h dk Dk D Hd. split; [apply extension_exists, D|].
  intros N weigh norm_ B X i [_ Nm] Wt HV HO H1 Sy H2 X1. assert (Pd : 0 < INR d) by (apply lt_0_INR; exact D).
  assert (Nd : forall x, dot d (norm_ x) (norm_ x) = INR d).
  { intro x. pose proof (Nm x) as Q. unfold mean_square in Q. apply (f_equal (fun y => y * INR d)) in Q. unfold Rdiv in Q.
    rewrite Rmult_assoc, Rinv_l in Q by lra. lra. }
  assert (E4 : INR (4 * d) = 4 * INR d) by (rewrite mult_INR; simpl; ring).
  assert (Net : forall Y, mean_of (first_layer B) (fun W1 => mean_of (second_layer B) (fun W2 => mean_square d (fed d norm_ W1 W2 Y i)))
    = mean_square d (Y i) + 8 / 25).
  { intro Y. set (z := fun (W1 : matrix) k => Rmax 0 (sum d (fun c => norm_ (Y i) c * W1 c k))).
    rewrite (mean_of_ext _ _ (fun W1 => mean_square d (Y i) + xavier (4 * d) d * dot (4 * d) (z W1) (z W1))).
    2:{ intro W1. exact (added_square (4 * d) d (xavier (4 * d) d) (second_layer B) (z W1) (Y i) D H2). }
    rewrite mean_of_plus, mean_of_const, mean_of_scal. f_equal. unfold dot. rewrite mean_of_sum.
    rewrite (sum_ext (4 * d) _ (fun _ => 1 / 2 * (xavier d (4 * d) * INR d))).
    - rewrite sum_const, E4. unfold xavier. rewrite E4. field. lra.
    - intros k K. pose proof (column_square d (4 * d) _ _ (norm_ (Y i)) k H1 K) as C. rewrite Nd in C. rewrite <- C.
      rewrite (mean_of_ext _ (fun W => sum d (fun a => norm_ (Y i) a * W a k) * sum d (fun a => norm_ (Y i) a * W a k))
        (fun W => z W k * z W k + z (fun a c => - W a c) k * z (fun a c => - W a c) k)).
      + rewrite mean_of_plus, (Sy (fun W => z W k * z W k)). field.
      + intro W. unfold z. rewrite <- square_of_relu. do 2 f_equal; f_equal; rewrite <- (Rmult_1_l (sum d _)), Ropp_mult_distr_l, <- sum_scal;
          apply sum_ext; intros; ring. }
  assert (Att : forall w Y A, (forall r i, (forall j, (j < n)%nat -> 0 <= w r A i j) /\ sum n (w r A i) = 1) ->
    exists m, 0 <= m <= 1 /\ mean_of (values B) (fun WV => mean_of (outputs B) (fun WO => mean_square d (attended n d dk w norm_ A WV WO Y i)))
      = mean_square d (Y i) + m).
  { intros w Y A Hw. set (u := fun a => average n (w (a / dk)%nat A i) (fun j => norm_ (Y j))).
    set (o := fun (WV : matrix) a => sum d (fun c => u a c * WV c a)).
    exists (/ INR d * sum d (fun a => xavier d d * dot d (u a) (u a))).
    assert (Xd : xavier d d = / INR d) by (unfold xavier; field; lra).
    assert (Bu : forall a, 0 <= xavier d d * dot d (u a) (u a) <= 1).
    { intro a. destruct (Hw (a / dk)%nat i) as [W1 W2]. pose proof (average_square n d (w (a / dk)%nat A i) (fun j => norm_ (Y j)) W1 W2 (fun j => Nd (Y j))) as Q.
      fold (u a) in Q. rewrite Xd. assert (0 < / INR d) by (apply Rinv_0_lt_compat, Pd). split; [apply Rmult_le_pos; lra|].
      apply (Rmult_le_reg_l (INR d)); [exact Pd|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    split.
    - assert (0 < / INR d) by (apply Rinv_0_lt_compat, Pd). split.
      + apply Rmult_le_pos; [lra|]. apply sum_nonneg. intros. apply Bu.
      + apply (Rmult_le_reg_l (INR d)); [exact Pd|]. rewrite <- Rmult_assoc, Rinv_r by lra. rewrite Rmult_1_l, <- sum_const.
        apply sum_le. intros. apply Bu.
    - rewrite (mean_of_ext _ _ (fun WV => mean_square d (Y i) + xavier d d * dot d (o WV) (o WV))).
      2:{ intro WV. exact (added_square d d (xavier d d) (outputs B) (o WV) (Y i) D HO). }
      rewrite mean_of_plus, mean_of_const, mean_of_scal. f_equal. rewrite Xd at 1. f_equal. unfold dot at 1. rewrite mean_of_sum.
      apply sum_ext. intros a Aa. exact (column_square d d _ _ (u a) a HV Aa). }
  split.
  - assert (G : forall N X, mean_square d (X i) + 8 / 25 * INR N <= after_blocks N n d dk weigh norm_ B X (fun Y => mean_square d (Y i))
      <= mean_square d (X i) + 33 / 25 * INR N).
    { clear N X X1. induction N as [|N IH]; intro X; [simpl; lra|]. rewrite S_INR. cbn [after_blocks].
      set (next := fun A WV WO => attended n d dk (weigh (fun i => norm_ (X i))) norm_ A WV WO X).
      assert (Step : forall k bound, (forall Z, bound Z = mean_square d (Z i) + k) -> forall A, exists m, 0 <= m <= 1 /\
        mean_of (values B) (fun WV => mean_of (outputs B) (fun WO => mean_of (first_layer B) (fun W1 => mean_of (second_layer B) (fun W2 =>
          bound (fed d norm_ W1 W2 (next A WV WO)))))) = mean_square d (X i) + 8 / 25 + m + k).
      { intros k bound Hb A. destruct (Att (weigh (fun i => norm_ (X i))) X A (fun r i => Wt _ r A i)) as (m & M & Q). exists m. split; [exact M|].
        rewrite (mean_of_ext _ _ (fun WV => mean_of (outputs B) (fun WO => mean_square d (next A WV WO i)) + (8 / 25 + k))).
        - rewrite mean_of_plus, mean_of_const. unfold next. rewrite Q. ring.
        - intro WV. rewrite <- (mean_of_const (outputs B) (8 / 25 + k)), <- mean_of_plus. apply mean_of_ext. intro WO.
          rewrite <- Rplus_assoc, <- (Net (next A WV WO)), <- (mean_of_const (first_layer B) k), <- mean_of_plus. apply mean_of_ext. intro W1.
          rewrite <- (mean_of_const (second_layer B) k), <- mean_of_plus. apply mean_of_ext. intro W2. apply Hb. }
      split.
      - rewrite <- (mean_of_const (scorers B) (mean_square d (X i) + 8 / 25 * (INR N + 1))). apply mean_of_le. intro A.
        destruct (Step (8 / 25 * INR N) (fun Z => mean_square d (Z i) + 8 / 25 * INR N) (fun _ => eq_refl) A) as (m & M & Q).
        apply Rle_trans with (mean_square d (X i) + 8 / 25 + m + 8 / 25 * INR N); [lra|]. rewrite <- Q.
        do 4 (apply mean_of_le; intro). apply IH.
      - rewrite <- (mean_of_const (scorers B) (mean_square d (X i) + 33 / 25 * (INR N + 1))). apply mean_of_le. intro A.
        destruct (Step (33 / 25 * INR N) (fun Z => mean_square d (Z i) + 33 / 25 * INR N) (fun _ => eq_refl) A) as (m & M & Q).
        apply Rle_trans with (mean_square d (X i) + 8 / 25 + m + 33 / 25 * INR N); [|lra]. rewrite <- Q.
        do 4 (apply mean_of_le; intro). apply IH. }
    specialize (G N X). rewrite X1 in G. exact G.
  - intro l. clear N. revert X X1. induction l as [|f l IH]; intros X X1; [exact X1|]. simpl. apply IH. apply Nm. Qed.
